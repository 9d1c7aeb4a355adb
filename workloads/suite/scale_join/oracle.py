"""Computes the expected pairs, by a grid over the first attribute, sorted by the second.

A tuple's partners are in its cell of the grid and the two neighbouring cells. Within a cell, the tuples in
the band of the second attribute are adjacent. The oracle tests all conditions on these candidates. It
processes the left side in chunks, so memory is bounded by the window, a block of pairs, and the answer.
"""

from typing import Any

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
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT

BAND = 10
"""Maximum difference of both attributes, inclusive."""

Side = dict[str, npt.NDArray[Any]]


def oracle(data: Input, ws_ms: int) -> Columns:
    """Return (ts, x, y, a, b, c, d) of all pairs at most `ws_ms` apart, by time."""
    events = total_order(data, np.dtype([*LEFT.descr, *RIGHT.descr]))
    left = _side(events.payload, events.ts, events.kind == 0, LEFT)
    right = _side(events.payload, events.ts, events.kind == 1, RIGHT)
    parts = chunks(left["ts"], right["ts"], ws_ms)
    first, second = concatenate_pairs(_matches(left, right, ws_ms, part) for part in parts)
    ts = np.maximum(left["ts"][first], right["ts"][second]) + 1
    order = np.argsort(ts, kind="stable")
    first, second = first[order], second[order]
    return {
        "ts": ts[order],
        **{name: left[name][first] for name in LEFT.names or ()},
        **{name: right[name][second] for name in RIGHT.names or ()},
    }


def _side(
    payload: Columns, ts: IntArray, rows: npt.NDArray[np.bool_], fields: np.dtype[np.void]
) -> Side:
    return {"ts": ts[rows], **{name: payload[name][rows] for name in fields.names or ()}}


def _matches(left: Side, right: Side, ws_ms: int, part: Chunk) -> tuple[IntArray, IntArray]:
    """Return the left and right rows of all matching pairs in a chunk."""
    left_rows = slice(part.left_begin, part.left_end)
    right_rows = slice(part.right_begin, part.right_end)
    x, y = left["x"][left_rows].astype(np.int64), left["y"][left_rows].astype(np.float64)
    a, b = right["a"][right_rows].astype(np.int64), right["b"][right_rows].astype(np.float64)
    cells, cell = np.unique(a // BAND, return_inverse=True)
    values, rank = np.unique(b, return_inverse=True)
    place = cell * (len(values) + 1) + rank
    order = np.argsort(place)
    place = place[order]
    lowest = np.searchsorted(values, y - BAND, side="left")
    highest = np.searchsorted(values, y + BAND, side="right")
    pairs = []
    for neighbour in (-1, 0, 1):
        target = x // BAND + neighbour
        index = np.searchsorted(cells, target)
        exists = index < len(cells)
        exists[exists] = cells[index[exists]] == target[exists]
        row = np.flatnonzero(exists)
        base = index[row] * (len(values) + 1)
        begin = np.searchsorted(place, base + lowest[row])
        end = np.searchsorted(place, base + highest[row])
        for source, position in expand_ranges(begin, end):
            first, second = row[source], order[position]
            matches = np.abs(x[first] - a[second]) <= BAND
            matches &= np.abs(y[first] - b[second]) <= BAND
            gap = left["ts"][left_rows][first] - right["ts"][right_rows][second]
            matches &= np.abs(gap) <= ws_ms
            pairs.append((first[matches] + part.left_begin, second[matches] + part.right_begin))
    return concatenate_pairs(pairs)
