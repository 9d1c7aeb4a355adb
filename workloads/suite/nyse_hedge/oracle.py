"""Computes the expected hedges, by sorting the right trades by ND (see `program`) and searching a range.

The search uses quotients and a slightly wider range, then tests the candidates by the definition.
It processes the left side in chunks, so memory is bounded by the trades of a window, a block of
pairs, and the answer.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.datasets.window_pairs import (
    Chunk,
    IntArray,
    chunks,
    concatenate_pairs,
    expand_ranges,
)
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nyse_hedge.generate import TRADE

_MARGIN = 1e-9
"""Relative margin of the search; quotients are exact to 1e-15."""

Floats = npt.NDArray[np.float64]


def oracle(data: Input, ws_ms: int, lower: float, upper: float) -> Columns:
    """Return (ts, l_id, l_price, r_id, r_price) of all hedges in the window, by time."""
    events = total_order(data, TRADE)
    sides = []
    for kind in range(2):
        # ND is undefined if the average is 0. A left trade needs an ND other than 0.
        rows = (events.kind == kind) & (events.payload["average"] != 0)
        if kind == 0:
            rows &= events.payload["price"] != events.payload["average"]
        sides.append(
            _Side(events.ts[rows], *(events.payload[name][rows] for name in TRADE.names or ()))
        )
    left, right = sides
    parts = chunks(left.ts, right.ts, ws_ms)
    query = ws_ms, lower, upper
    first, second = concatenate_pairs(_hedges(left, right, query, part) for part in parts)
    ts = np.maximum(left.ts[first], right.ts[second]) + 1
    order = np.argsort(ts, kind="stable")
    first, second = first[order], second[order]
    return {
        "ts": ts[order],
        "l_id": left.id[first],
        "l_price": left.price[first],
        "r_id": right.id[second],
        "r_price": right.price[second],
    }


class _Side:
    """Trades of one side of the join; `distance` is their ND."""

    def __init__(self, ts: IntArray, *columns: npt.NDArray[np.generic]) -> None:
        self.ts = ts
        self.id, self.price, average = columns
        self.average = average.astype(np.float64)
        self.change = self.price.astype(np.int64) - average.astype(np.int64)
        self.distance = self.change / self.average


def _hedges(
    left: _Side, right: _Side, query: tuple[int, float, float], part: Chunk
) -> tuple[IntArray, IntArray]:
    """Return the left and right rows of all hedges in a chunk; `query` has the window and both bounds."""
    ws_ms, lower, upper = query
    order = np.argsort(right.distance[part.right_begin : part.right_end]) + part.right_begin
    distances = right.distance[order]
    bounds = np.outer((lower, upper), left.distance[part.left_begin : part.left_end])
    lowest, highest = bounds.min(axis=0), bounds.max(axis=0)
    begin = np.searchsorted(distances, lowest - np.abs(lowest) * _MARGIN, side="left")
    end = np.searchsorted(distances, highest + np.abs(highest) * _MARGIN, side="right")
    pairs = []
    for row, position in expand_ranges(begin, end):
        first, second = row + part.left_begin, order[position]
        matches = np.abs(left.ts[first] - right.ts[second]) <= ws_ms
        matches &= left.id[first] != right.id[second]
        first, second = first[matches], second[matches]
        num = right.change[second] * left.average[first]
        den = left.change[first] * right.average[second]
        low, high = np.minimum(lower * den, upper * den), np.maximum(lower * den, upper * den)
        matches = (low <= num) & (num <= high)
        pairs.append((first[matches], second[matches]))
    return concatenate_pairs(pairs)
