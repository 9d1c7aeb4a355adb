"""Query 7: the highest bids of each share of the prices -> the highest bids of all shares.

The bids of a window leave once, one window length after the window ends, because the second operator first collects
the highest bids of the shares, which leave when the window ends.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import InputType, Operator, Query, Window

OUTPUT = fields("ts", "auction", "bidder", "price", "bid_ts", "extra")

SHARES = 64
"""Number of shares; a price is in share `price % SHARES`, so that several workers compare prices."""

MAX_TIES = 64
"""Largest number of bids of a window with the highest price; more end the run with an error."""

_HIGHEST = np.dtype(
    [
        ("price", np.int64),
        ("ties", np.int64),
        ("auction", np.int32, (MAX_TIES,)),
        ("bidder", np.int32, (MAX_TIES,)),
        ("bid_ts", np.int64, (MAX_TIES,)),
        ("extra", np.int32, (MAX_TIES,)),
    ]
)


def program(size_ms: int) -> Query:
    """Return the query for windows of this length."""
    event = fields("type", "auction", "person", "price", "extra")
    highest = np.dtype(OUTPUT.descr[1:])
    return Query(
        name="nexmark_q7",
        operators=(
            _highest("of_share", EVENT, event, size_ms, _share, _compare_bid),
            _highest("of_all", "highest", highest, size_ms, _all, _compare_highest),
        ),
    )


def _highest(
    name: str,
    source: str,
    columns: np.dtype[np.void],
    size_ms: int,
    keys: Callable[[Any, Any], None],
    update: Callable[[Any, Any, Any], None],
) -> Operator:
    """Return an operator that finds the highest bids of each key in tumbling windows."""
    return Operator(
        name=name,
        inputs=(InputType(name=source, fields=columns),),
        window=Window(advance=size_ms, size=size_ms),
        output=OUTPUT,
        state=_HIGHEST,
        keys=keys,
        update=update,
        expire=_emit,
        max_outputs=MAX_TIES,
    )


def _share(t: Any, out: Any) -> None:
    """Add the share of a bid's price as key."""
    if t.type == BID:
        out.add(t.price % SHARES)


def _all(t: Any, out: Any) -> None:
    """Add the same key for all bids."""
    out.add(0)


def _compare_bid(w: Any, t: Any, out: Any) -> None:
    _compare(w[0], t.auction, t.person, t.price, t.ts, t.extra)


def _compare_highest(w: Any, t: Any, out: Any) -> None:
    _compare(w[0], t.auction, t.bidder, t.price, t.bid_ts, t.extra)


def _compare(s: Any, auction: Any, bidder: Any, price: Any, bid_ts: Any, extra: Any) -> None:
    """Store a bid in state `s` if its price is the highest so far, or equals it."""
    if price > s.price:
        s.price = price
        s.ties = 0
    if price == s.price:
        if s.ties < MAX_TIES:
            s.auction[s.ties] = auction
            s.bidder[s.ties] = bidder
            s.bid_ts[s.ties] = bid_ts
            s.extra[s.ties] = extra
        s.ties += 1


def _emit(w: Any, out: Any) -> None:
    s = w[0]
    if s.ties > MAX_TIES:
        raise ValueError(
            "more than 64 bids have the highest price of a window; make windows shorter"
        )
    for k in range(s.ties):
        out.emit(s.auction[k], s.bidder[k], s.price, s.bid_ts[k], s.extra[k])
