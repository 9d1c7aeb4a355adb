"""Query 18 as an operator with a tumbling window of each bidder and auction.

At the end of a step, the last bid of the step replaces the last bid of earlier steps. An engine that updates after each
bid, without steps, would output every bid.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import InputType, Operator, Query, Window

OUTPUT = fields("ts", "auction", "bidder", "price", "channel", "bid_ts", "extra")

_BID = np.dtype(OUTPUT.descr[1:])


def program(every_ms: int) -> Query:
    """Return the query for steps of this length."""
    operator = Operator(
        name="last_bids",
        inputs=(
            InputType(
                name=EVENT, fields=fields("type", "auction", "person", "price", "channel", "extra")
            ),
        ),
        window=Window(advance=every_ms, size=every_ms),
        output=OUTPUT,
        state=_BID,
        keys=_bidder_and_auction,
        update=_replace,
        expire=_emit,
    )
    return Query(name="nexmark_q18", operators=(operator,))


def _bidder_and_auction(t: Any, out: Any) -> None:
    """Add the bidder and auction of a bid as one key."""
    if t.type == BID:
        out.add((int(t.person) << 32) + t.auction)


def _replace(w: Any, t: Any, out: Any) -> None:
    s = w[0]
    s.auction = t.auction
    s.bidder = t.person
    s.price = t.price
    s.channel = t.channel
    s.bid_ts = t.ts
    s.extra = t.extra


def _emit(w: Any, out: Any) -> None:
    s = w[0]
    out.emit(s.auction, s.bidder, s.price, s.channel, s.bid_ts, s.extra)
