"""Query 4: winning bids -> sums of a step -> averages so far.

- `step_results` adds the prices of a category's auctions that closed at the same time, in any order.
- `averages` adds these sums. A category has one sum a step, so the order of ties does not matter.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.inputs.nexmark.winning_bids import averages_by_step
from streamlab.workloads.model import Query

WINNER = fields("ts", "category", "price")
SUMS = np.dtype(
    [("ts", np.int64), ("category", np.int32), ("auctions", np.int64), ("sum", np.int64)]
)
OUTPUT = np.dtype(
    [("ts", np.int64), ("category", np.int32), ("auctions", np.int64), ("average", np.float64)]
)
_SUM = np.dtype([("auctions", np.int64), ("sum", np.int64)])


def program(every_ms: int) -> Query:
    """Return the query for steps of this length."""
    return averages_by_step(
        "nexmark_q4",
        every_ms,
        winner=WINNER,
        emit=_emit,
        keys=_category,
        step=SUMS,
        step_state=_SUM,
        add=_add_price,
        emit_step=_emit_sum,
        output=OUTPUT,
        state=_SUM,
        emit_average=_emit_average,
    )


def _emit(w: Any, out: Any) -> None:
    out.emit(w.category, w.price)


def _category(t: Any, out: Any) -> None:
    """Add the category as key."""
    out.add(t.category)


def _add_price(w: Any, t: Any, out: Any) -> None:
    w[0].auctions += 1
    w[0].sum += t.price


def _emit_sum(w: Any, out: Any) -> None:
    out.emit(w[0].key, w[0].auctions, w[0].sum)


def _emit_average(w: Any, t: Any, out: Any) -> None:
    """Add the sum of a step, and emit the average so far."""
    w[0].auctions += t.auctions
    w[0].sum += t.sum
    out.emit(t.category, w[0].auctions, w[0].sum / w[0].auctions)
