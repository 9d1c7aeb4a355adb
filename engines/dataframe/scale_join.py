"""Computes the band join by sorting the right tuples within reach in time by their first attribute.

A tuple's partners form a run in that order (21 of 10,000 values in the benchmark). Binary search finds the run, and
the other conditions are tested on its tuples. On purpose it does not compare all pairs: a user who wants the answer
would not.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.dataframe.streams import Part, Side, Streams, column
from streamlab.engines.protocol import IntArray
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from streamlab.workloads.suite.scale_join.program import BAND

CHUNK = 4096
"""Left tuples per step; they share the sort of the right tuples within their reach."""

Rows = dict[str, npt.NDArray[Any]]


def scale_join(streams: Streams) -> list[Part]:
    """Return all pairs, ordered by time."""
    window = int(str(streams.params["ws_ms"]))
    left = _rows(streams.bulk, ("ts", *(LEFT.names or ())))
    right = _rows(streams.separators, ("ts", *(RIGHT.names or ())))
    pairs = [
        _pairs(left, right, window, begin, min(begin + CHUNK, len(left["ts"])))
        for begin in range(0, len(left["ts"]), CHUNK)
    ]
    empty = np.empty(0, np.int64)
    left_row = np.concatenate([empty, *(rows for rows, _ in pairs)])
    right_row = np.concatenate([empty, *(rows for _, rows in pairs)])
    ts = np.maximum(left["ts"][left_row], right["ts"][right_row]) + 1
    order = np.argsort(ts, kind="stable")
    left_row, right_row = left_row[order], right_row[order]
    part = {name: left[name][left_row] for name in LEFT.names or ()}
    part |= {name: right[name][right_row] for name in RIGHT.names or ()}
    return [{"ts": ts[order], **part, "src": np.zeros(len(ts), np.int16)}]


def _pairs(left: Rows, right: Rows, window: int, begin: int, end: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of left tuples [begin, end), as rows of both sides."""
    first, last = left["ts"][begin] - window, left["ts"][end - 1] + window
    near = slice(*np.searchsorted(right["ts"], [first, last + 1]))
    order = np.argsort(right["a"][near], kind="stable") + near.start
    a = right["a"][order].astype(np.int64)
    x = left["x"][begin:end].astype(np.int64)
    low = np.searchsorted(a, x - BAND, side="left")
    rows = np.searchsorted(a, x + BAND, side="right") - low
    left_row = np.repeat(np.arange(begin, end), rows)
    before = np.cumsum(rows) - rows
    right_row = order[np.arange(rows.sum()) + np.repeat(low - before, rows)]
    match = np.abs(left["y"][left_row] - right["b"][right_row]) <= BAND
    match &= np.abs(left["ts"][left_row] - right["ts"][right_row]) <= window
    return left_row[match], right_row[match]


def _rows(side: Side, names: tuple[str, ...]) -> Rows:
    """Return the streams of a side as one table, ordered by time."""
    rows = {
        name: np.concatenate([s.ts if name == "ts" else column(s, name) for _, s in side])
        for name in names
    }
    order = np.argsort(rows["ts"], kind="stable") if len(side) > 1 else slice(None)
    return {name: values[order] for name, values in rows.items()}
