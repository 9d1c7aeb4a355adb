"""Query 0 as a pipeline with one stateless operator."""

from typing import Any

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import Pipeline, stateless

OUTPUT = fields("ts", "auction", "bidder", "price", "channel", "extra")


def program() -> Pipeline:
    """Return the pipeline."""
    return Pipeline(
        name="nexmark_q0",
        record=EVENT,
        event=fields("type", "auction", "person", "price", "channel", "extra"),
        stages=(stateless(name="bids", output=OUTPUT, apply=_bid),),
    )


def _bid(t: Any, out: Any) -> None:
    if t.type == BID:
        out.emit(t.auction, t.person, t.price, t.channel, t.extra)
