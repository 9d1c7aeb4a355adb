"""Query 1 as a pipeline: a price in euro cents is 0.908 times the price in dollar cents, with halves rounded up."""

from typing import Any

from streamlab.workloads.inputs.nexmark.schema import BID, EURO_PER_DOLLAR_MILLI, EVENT, fields
from streamlab.workloads.model import Pipeline, stateless

OUTPUT = fields("ts", "auction", "bidder", "price")


def program() -> Pipeline:
    """Return the pipeline."""
    return Pipeline(
        name="nexmark_q1",
        record=EVENT,
        event=fields("type", "auction", "person", "price"),
        stages=(stateless(name="convert", output=OUTPUT, apply=_convert),),
    )


def _convert(t: Any, out: Any) -> None:
    if t.type == BID:
        out.emit(t.auction, t.person, (t.price * EURO_PER_DOLLAR_MILLI + 500) // 1000)
