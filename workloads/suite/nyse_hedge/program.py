"""NYSE hedge: trades of different companies whose prices moved oppositely (STRETCH, 8.6).

A self-join of all trades within 30 s. With ND = (price - average) / average, the distance of a
trade from its company's average of the day before, a pair matches when the companies differ and

    lower <= ND_R / ND_L <= upper

by default within -1.05 and -0.95, as in the paper's public code. The paper's text gives the lower
bound alone: `upper = 1e30`. A trade whose average is 0 has no ND, and one whose ND is 0 hedges
nothing as a left trade; neither matches.

Arithmetic, the same in every engine. Nothing is divided: the ratio is num / den, where

    num = (price_R - average_R) * average_L     den = (price_L - average_L) * average_R

in double precision: differences of 32-bit prices are exact, num and den exact below 2^53, and
lower * den and upper * den are rounded once. The comparisons turn around where den is negative.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import InputType, Query, join
from streamlab.workloads.suite.nyse_hedge.generate import KINDS, TRADE

OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("l_id", np.int32),
        ("l_price", np.int32),
        ("r_id", np.int32),
        ("r_price", np.int32),
    ]
)


def program(ws_ms: int, lower: float, upper: float, shares: int) -> Query:
    """Return the self-join over a window of `ws_ms`, with tuples kept in `shares` shares."""

    # `&` and `|` leave no branches, so that compiled code compares several pairs at a time.
    def match(left: Any, right: Any) -> Any:
        num = (right.price * 1.0 - right.average) * left.average
        den = (left.price * 1.0 - left.average) * right.average
        low = lower * den
        high = upper * den
        return (
            (left.id != right.id)
            & (left.average != 0)
            & (
                ((den > 0.0) & (low <= num) & (num <= high))
                | ((den < 0.0) & (high <= num) & (num <= low))
            )
        )

    operator = join(
        name="nyse_hedge",
        left=InputType(name=KINDS[0], fields=TRADE),
        right=InputType(name=KINDS[1], fields=TRADE),
        size=ws_ms,
        output=OUTPUT,
        match=match,
        emit=_emit,
        shares=shares,
    )
    return Query(name="nyse_hedge", operators=(operator,))


def _emit(left: Any, right: Any, out: Any) -> None:
    out.emit(left.id, left.price, right.id, right.price)
