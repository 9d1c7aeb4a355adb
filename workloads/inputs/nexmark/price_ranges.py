"""Defines the price ranges and the day of queries 15, 16 and 17."""

from typing import Any

from streamlab.workloads.model import Parameter

LOW, HIGH = 10_000, 1_000_000
"""Prices below LOW are in range 0, below HIGH in range 1, others in range 2."""

RANGES = 3

DAY = {
    "day_ms": Parameter(
        default=86_400_000, help="length of a day (event time)", minimum=1, maximum=2**40
    )
}
"""Query parameter of queries on days."""


def price_range(price: Any) -> int:
    """Return the range of a price, 0 to 2."""
    if price < LOW:
        return 0
    return 1 if price < HIGH else 2
