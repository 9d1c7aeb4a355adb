"""Query 20 as an operator with a state for each auction: an incremental join.

A bid may precede its auction; it is then stored. A row has the time of the later event.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import (
    AUCTION,
    EVENT,
    FIRST_CATEGORY,
    FOREVER_MS,
    PERSON,
    fields,
)
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.operators.program import SINGLE, keep

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
        ("category", np.int32),
        ("item", np.int32),
        ("initial_bid", np.int64),
        ("reserve", np.int64),
        ("opened", np.int64),
        ("expires", np.int64),
        ("seller", np.int32),
    ]
)
"""An auction; category 0: it has not opened."""


def program() -> Query:
    """Return the query."""
    operator = Operator(
        name="auctions",
        inputs=(
            InputType(
                name=EVENT,
                fields=fields(
                    "type",
                    "person",
                    "auction",
                    "price",
                    "reserve",
                    "expires",
                    "category",
                    "name",
                    "channel",
                ),
            ),
        ),
        window=Window(advance=FOREVER_MS, size=FOREVER_MS, type=SINGLE),
        output=OUTPUT,
        state=_AUCTION,
        keys=_auction,
        update=_join,
        slide=keep,
        stores=True,
        emits_on_update=True,
        keeps_time=True,
        max_outputs=64,
    )
    return Query(name="nexmark_q20", operators=(operator,))


def _auction(t: Any, out: Any) -> None:
    if t.type != PERSON:
        out.add(t.auction)


def _join(w: Any, t: Any, out: Any) -> None:
    s = w[0]
    if t.type == AUCTION:
        s.category = t.category
        s.item = t.name
        s.initial_bid = t.price
        s.reserve = t.reserve
        s.opened = t.ts
        s.expires = t.expires
        s.seller = t.person
        while s.tuples:
            if s.category == FIRST_CATEGORY:
                _emit(s, s.tuples[0], out)
            s.tuples.popleft()
    elif s.category == 0:
        s.tuples.append(t)
    elif s.category == FIRST_CATEGORY:
        _emit(s, t, out)


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
