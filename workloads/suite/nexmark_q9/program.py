"""Query 9 as the operator of winning bids alone."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.winning_bids import winning_bids
from streamlab.workloads.model import Query

OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("auction", np.int32),
        ("item", np.int32),
        ("initial_bid", np.int64),
        ("reserve", np.int64),
        ("opened", np.int64),
        ("expires", np.int64),
        ("seller", np.int32),
        ("category", np.int32),
        ("bidder", np.int32),
        ("price", np.int64),
        ("bid_ts", np.int64),
    ]
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
