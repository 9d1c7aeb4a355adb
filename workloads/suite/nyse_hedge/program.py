"""Joins trades of different companies whose prices moved oppositely (STRETCH, 8.6).

The query is a self-join of all trades within 30 s. ND = (price - average) / average is the distance
of a trade from its company's average of the day before. A pair matches if the companies differ and

    lower <= ND_R / ND_L <= upper

The default bounds, -1.05 and -0.95, are the bounds of the paper's public code. The paper's text has only
the lower bound (`upper = 1e30`). Trades without ND (average 0) and left trades with ND 0 never match.

Arithmetic is the same in every engine. To avoid divisions, the ratio is num / den, where

    num = (price_R - average_R) * average_L     den = (price_L - average_L) * average_R

in double precision. Differences of 32-bit prices are exact, num and den are exact below 2^53, and
lower * den and upper * den are rounded once. If den is negative, the comparisons are reversed.
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
    """Return the self-join over a window of `ws_ms`, with tuples stored in `shares` shares."""

    # `&` and `|` avoid branches, so compiled code compares several pairs at a time.
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
