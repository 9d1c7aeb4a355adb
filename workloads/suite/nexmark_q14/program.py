"""Query 14 as a pipeline with one stateless operator.

It selects bids above 1,000,000 and below 50,000,000 euro cents. `day_part` is 0 for hours 8 to 18 (UTC),
1 for hours 20 to 6, else 2 (hours 7 and 19). `c_count` is how often the letter c occurs in `extra`.
"""

from typing import Any

from streamlab.workloads.inputs.nexmark.schema import (
    ALPHABET,
    BID,
    EURO_PER_DOLLAR_MILLI,
    EVENT,
    LETTERS,
    fields,
)
from streamlab.workloads.model import Pipeline, stateless

OUTPUT = fields("ts", "auction", "bidder", "price", "day_part", "extra", "c_count")

HOUR_MS = 3_600_000
DAY, NIGHT, OTHER = 0, 1, 2
LETTER_C = 2
"""The number of the letter c, from 0 for a."""


def program() -> Pipeline:
    """Return the pipeline."""
    return Pipeline(
        name="nexmark_q14",
        record=EVENT,
        event=fields("type", "auction", "person", "price", "extra"),
        stages=(stateless(name="calculate", output=OUTPUT, apply=_calculate),),
    )


def _calculate(t: Any, out: Any) -> None:
    price_milli_cents = t.price * EURO_PER_DOLLAR_MILLI
    if t.type == BID and 1_000_000_000 < price_milli_cents < 50_000_000_000:
        price = (price_milli_cents + 500) // 1000
        out.emit(t.auction, t.person, price, _day_part(t.ts), t.extra, _count(t.extra, LETTER_C))


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
