"""Joins all pairs in a window whose attributes lie within bands (STRETCH, 8.3).

L(ts, x, y) and R(ts, a, b, c, d) match if |x - a| <= 10 and |y - b| <= 10; the output is the
concatenation of both tuples. On the benchmark's values, uniform whole numbers in [1, 10000], about
one pair in 227,000 matches (the paper says 250,000).

Native code subtracts y and b in single precision, plain Python in double precision. Both are exact
for generated values, see `generate`.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import InputType, Query, join
from streamlab.workloads.model.widths import int32
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT

BAND = 10
OUTPUT = np.dtype([("ts", np.int64), *LEFT.descr, *RIGHT.descr])


def match(left: Any, right: Any) -> Any:
    """Return whether both attributes of a pair lie within the band.

    `&` avoids branches, so compiled code compares several pairs at a time. Differences of the
    benchmark's values fit 32 bits (`generate` bounds them to 24).
    """
    return (abs(int32(left.x - right.a)) <= BAND) & (abs(left.y - right.b) <= BAND)


def emit(left: Any, right: Any, out: Any) -> None:
    """Forward both tuples as one."""
    out.emit(left.x, left.y, right.a, right.b, right.c, right.d)


def program(ws_ms: int, shares: int) -> Query:
    """Return the join over a window of `ws_ms`, with tuples stored in `shares` shares."""
    operator = join(
        name="scale_join",
        left=InputType(name="left", fields=LEFT),
        right=InputType(name="right", fields=RIGHT),
        size=ws_ms,
        output=OUTPUT,
        match=match,
        emit=emit,
        shares=shares,
    )
    return Query(name="scale_join", operators=(operator,))
