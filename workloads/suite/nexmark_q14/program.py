"""Query 14 as a pipeline with one stateless operator.

It selects bids above 1,000,000 and below 50,000,000 euro cents. `day_part` is 0 from 8 to 18 o'clock
(UTC), 1 before 7 and from 20 o'clock, else 2. `c_count` is how often the letter c occurs in `extra`.
"""

from typing import Any

from streamlab.workloads.inputs.nexmark.schema import ALPHABET, BID, EVENT, LETTERS, fields
from streamlab.workloads.model import Pipeline, stateless

OUTPUT = fields("ts", "auction", "bidder", "price", "day_part", "extra", "c_count")

HOUR_MS = 3_600_000
DAY, NIGHT, OTHER = 0, 1, 2
C = 2


def program() -> Pipeline:
    """Return the pipeline."""
    return Pipeline(
        name="nexmark_q14",
        record=EVENT,
        event=fields("type", "auction", "person", "price", "extra"),
        stages=(stateless(name="calculate", output=OUTPUT, apply=_calculate),),
    )


def _calculate(t: Any, out: Any) -> None:
    thousandths = t.price * 908
    if t.type == BID and 1_000_000_000 < thousandths < 50_000_000_000:
        price = (thousandths + 500) // 1000
        out.emit(t.auction, t.person, price, _day_part(t.ts), t.extra, _count(t.extra, C))


def _day_part(ts: Any) -> int:
    hour = ts // HOUR_MS % 24
    if 8 <= hour <= 18:
        return DAY
    if hour <= 6 or hour >= 20:
        return NIGHT
    return OTHER


def _count(text: Any, letter: int) -> int:
    """Return how often a letter occurs in a text of `LETTERS` letters."""
    count = 0
    for _ in range(LETTERS):
        if text % ALPHABET == letter:
            count += 1
        text //= ALPHABET
    return count
