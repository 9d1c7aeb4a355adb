"""Query 9 as the single operator of winning bids."""

from typing import Any

from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.inputs.nexmark.winning_bids import winning_bids
from streamlab.workloads.model import Query

OUTPUT = fields(
    "ts",
    "auction",
    "item",
    "initial_bid",
    "reserve",
    "opened",
    "expires",
    "seller",
    "category",
    "bidder",
    "price",
    "bid_ts",
)


def program(every_ms: int) -> Query:
    """Return the query for steps of this length."""
    return Query(name="nexmark_q9", operators=(winning_bids(every_ms, OUTPUT, _emit),))


def _emit(w: Any, out: Any) -> None:
    out.emit(
        w.key,
        w.item,
        w.initial_bid,
        w.reserve,
        w.opened,
        w.expires,
        w.seller,
        w.category,
        w.bidder,
        w.price,
        w.bid_ts,
    )
