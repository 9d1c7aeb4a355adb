"""The band join by sorting: right tuples within reach in time, ordered by their first attribute.

A tuple's partners lie in a run of that order (21 of 10,000 values in the benchmark), which binary
search finds; the other conditions are tested on what is in it. Not all pairs are compared, and that
is the point: it is what a user would do who does not want to know how fast pairs can be compared.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.dataframe.markers import IntArray, Part, column
from streamlab.engines.dataframe.streams import Side, Streams
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from streamlab.workloads.suite.scale_join.program import BAND

CHUNK = 4096
"""Left tuples at a time: what is sorted for them is their reach in time, and they share it."""

Rows = dict[str, npt.NDArray[Any]]


def answer(streams: Streams) -> list[Part]:
    """Return all pairs, ordered by time."""
    window = int(str(streams.params["ws_ms"]))
    left = _rows(streams.bulk, ("ts", *(LEFT.names or ())))
    right = _rows(streams.markers, ("ts", *(RIGHT.names or ())))
    found = [
        _pairs(left, right, window, begin, min(begin + CHUNK, len(left["ts"])))
        for begin in range(0, len(left["ts"]), CHUNK)
    ]
    nothing = np.empty(0, np.int64)
    one = np.concatenate([nothing, *(rows for rows, _ in found)])
    other = np.concatenate([nothing, *(rows for _, rows in found)])
    ts = np.maximum(left["ts"][one], right["ts"][other]) + 1
    order = np.argsort(ts, kind="stable")
    one, other = one[order], other[order]
    part = {name: left[name][one] for name in LEFT.names or ()}
    part |= {name: right[name][other] for name in RIGHT.names or ()}
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
    one = np.repeat(np.arange(begin, end), rows)
    before = np.cumsum(rows) - rows
    other = order[np.arange(rows.sum()) + np.repeat(low - before, rows)]
    match = np.abs(left["y"][one] - right["b"][other]) <= BAND
    match &= np.abs(left["ts"][one] - right["ts"][other]) <= window
    return one[match], other[match]


def _rows(side: Side, names: tuple[str, ...]) -> Rows:
    """Return the streams of a side as one table, ordered by time."""
    found = {
        name: np.concatenate([s.ts if name == "ts" else column(s, name) for _, s in side])
        for name in names
    }
    order = np.argsort(found["ts"], kind="stable") if len(side) > 1 else slice(None)
    return {name: values[order] for name, values in found.items()}
