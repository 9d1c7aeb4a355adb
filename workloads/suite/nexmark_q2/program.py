"""Query 2 as a pipeline with one stateless operator."""

from typing import Any

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import Pipeline, stateless

OUTPUT = fields("ts", "auction", "price")


def program(every: int) -> Pipeline:
    """Return the pipeline that selects auctions that are multiples of `every`."""

    def select(t: Any, out: Any) -> None:
        if t.type == BID and t.auction % every == 0:
            out.emit(t.auction, t.price)

    return Pipeline(
        name="nexmark_q2",
        record=EVENT,
        event=fields("type", "auction", "price"),
        stages=(stateless(name="select", output=OUTPUT, apply=select),),
    )
