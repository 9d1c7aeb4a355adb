"""Query 20 as an operator with a state for each auction: an incremental join with the auction's bids."""

from typing import Any

from streamlab.workloads.inputs.nexmark.incremental_join import incremental_join
from streamlab.workloads.inputs.nexmark.schema import AUCTION, FIRST_CATEGORY, PERSON, fields
from streamlab.workloads.model import Query

OUTPUT = fields(
    "ts",
    "auction",
    "bidder",
    "price",
    "channel",
    "bid_ts",
    "item",
    "initial_bid",
    "reserve",
    "opened",
    "expires",
    "seller",
)

_AUCTION = fields("joins", "item", "initial_bid", "reserve", "opened", "expires", "seller")


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
    """Add the auction of an auction event or a bid as key."""
    if t.type != PERSON:
        out.add(t.auction)


def _note(s: Any, t: Any) -> None:
    """Store an auction in state `s`; auctions of other categories join nothing."""
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
