"""Query 6: winning bids -> latest prices of a step -> averages of the latest prices.

- `step_results` ranks a seller's auctions that closed in the same step by `expires`, then by auction, and
  forwards the last ten with their ranks.
- `averages` puts each price at the place of its rank after the earlier prices. Prices of a step come in any order.
  At the last price of a step, the operator forwards the average of the last ten prices.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.inputs.nexmark.winning_bids import averages_by_step
from streamlab.workloads.model import Query

LATEST = 10
"""Number of auctions in an average."""

WINNER = fields("ts", "seller", "auction", "expires", "price")
RANKED = np.dtype(
    [
        ("ts", np.int64),
        ("seller", np.int32),
        ("rank", np.int32),
        ("auctions", np.int32),
        ("price", np.int64),
    ]
)
"""The `auctions` prices of a seller and step have the ranks 0 to `auctions` - 1."""

OUTPUT = fields("ts", "seller", "average")

_STEP = np.dtype(
    [
        ("auctions", np.int32),
        ("auction", np.int32, (LATEST,)),
        ("expires", np.int64, (LATEST,)),
        ("price", np.int64, (LATEST,)),
    ]
)
_SELLER = np.dtype([("before", np.int64), ("arrived", np.int32), ("price", np.int64, (LATEST,))])


def program(every_ms: int) -> Query:
    """Return the query for steps of this length."""
    return averages_by_step(
        "nexmark_q6",
        every_ms,
        winner=WINNER,
        emit=_emit,
        keys=_seller,
        step=RANKED,
        step_state=_STEP,
        add=_insert,
        emit_step=_emit_ranked,
        output=OUTPUT,
        state=_SELLER,
        emit_average=_emit_average,
        most=LATEST,
    )


def _emit(w: Any, out: Any) -> None:
    out.emit(w.seller, w.key, w.expires, w.price)


def _seller(t: Any, out: Any) -> None:
    """Add the seller as key."""
    out.add(t.seller)


def _insert(w: Any, t: Any, out: Any) -> None:
    """Insert an auction in order; with more than ten, drop the first auction."""
    s = w[0]
    place = s.auctions
    while place > 0 and (
        t.expires < s.expires[place - 1]
        or (t.expires == s.expires[place - 1] and t.auction < s.auction[place - 1])
    ):
        place -= 1
    if s.auctions == LATEST:
        if place == 0:
            return
        place -= 1
        for k in range(place):
            s.auction[k] = s.auction[k + 1]
            s.expires[k] = s.expires[k + 1]
            s.price[k] = s.price[k + 1]
    else:
        for k in range(s.auctions, place, -1):
            s.auction[k] = s.auction[k - 1]
            s.expires[k] = s.expires[k - 1]
            s.price[k] = s.price[k - 1]
        s.auctions += 1
    s.auction[place] = t.auction
    s.expires[place] = t.expires
    s.price[place] = t.price


def _emit_ranked(w: Any, out: Any) -> None:
    for k in range(w[0].auctions):
        out.emit(w[0].key, k, w[0].auctions, w[0].price[k])


def _emit_average(w: Any, t: Any, out: Any) -> None:
    """Store a price by its rank; after the last price of the step, emit the average."""
    s = w[0]
    s.price[(s.before + t.rank) % LATEST] = t.price
    s.arrived += 1
    if s.arrived == t.auctions:
        s.before += t.auctions
        s.arrived = 0
        count = min(s.before, LATEST)
        total = 0
        for k in range(count):
            total += s.price[k]
        out.emit(t.seller, total / count)
