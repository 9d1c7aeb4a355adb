"""Whether records leave in the order of their timestamps, and which ones do not."""

import numpy as np

from streamlab.workloads.model.answers.difference import Example, in_words
from streamlab.workloads.model.answers.foata import CHUNK
from streamlab.workloads.model.streams.stream import Columns, IntArray


def late_rows(columns: Columns) -> IntArray:
    """Return, ascending, the rows that are timed before an earlier row."""
    ts = columns["ts"].astype(np.int64, copy=False)
    found = [np.empty(0, dtype=np.int64)]
    latest = np.iinfo(np.int64).min
    for begin in range(0, len(ts), CHUNK):
        reached = np.maximum.accumulate(np.maximum(ts[begin : begin + CHUNK], latest))
        found.append(begin + np.flatnonzero(ts[begin : begin + CHUNK] < reached))
        latest = int(reached[-1])
    return np.concatenate(found)


def late_examples(columns: Columns, late: IntArray, limit: int) -> list[Example]:
    """Return some rows of `late_rows` in words, each with the time that it came after."""
    ts = columns["ts"]
    return [
        Example(
            fault="out of order",
            text=f"row {row}: {in_words(columns, row)}, after one of time {ts[:row].max()}",
            position=row,
        )
        for row in late[:limit].tolist()
    ]
