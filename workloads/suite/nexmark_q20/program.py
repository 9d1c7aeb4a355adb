"""Query 20 as an operator with a state for each auction: an incremental join with its bids."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.incremental_join import incremental_join
from streamlab.workloads.inputs.nexmark.schema import AUCTION, FIRST_CATEGORY, PERSON
from streamlab.workloads.model import Query

OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("auction", np.int32),
        ("bidder", np.int32),
        ("price", np.int64),
        ("channel", np.int32),
        ("bid_ts", np.int64),
        ("item", np.int32),
        ("initial_bid", np.int64),
        ("reserve", np.int64),
        ("opened", np.int64),
        ("expires", np.int64),
        ("seller", np.int32),
    ]
)

_AUCTION = np.dtype(
    [
        ("joins", np.int8),
        ("item", np.int32),
        ("initial_bid", np.int64),
        ("reserve", np.int64),
        ("opened", np.int64),
        ("expires", np.int64),
        ("seller", np.int32),
    ]
)


def program() -> Query:
    """Return the query."""
    columns = ("person", "auction", "price", "reserve", "expires", "category", "name", "channel")
    operator = incremental_join(
        "auctions",
        kind=AUCTION,
        columns=columns,
        output=OUTPUT,
        state=_AUCTION,
        keys=_auction,
        note=_note,
        emit=_emit,
    )
    return Query(name="nexmark_q20", operators=(operator,))


def _auction(t: Any, out: Any) -> None:
    if t.type != PERSON:
        out.add(t.auction)


def _note(s: Any, t: Any) -> None:
    s.joins = 1 if t.category == FIRST_CATEGORY else -1
    s.item = t.name
    s.initial_bid = t.price
    s.reserve = t.reserve
    s.opened = t.ts
    s.expires = t.expires
    s.seller = t.person


def _emit(s: Any, bid: Any, out: Any) -> None:
    out.emit(
        bid.auction,
        bid.person,
        bid.price,
        bid.channel,
        bid.ts,
        s.item,
        s.initial_bid,
        s.reserve,
        s.opened,
        s.expires,
        s.seller,
    )
