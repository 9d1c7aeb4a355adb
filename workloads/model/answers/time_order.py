"""Finds records that leave an operator out of timestamp order."""

import numpy as np

from streamlab.workloads.model.answers.difference import Example, in_words
from streamlab.workloads.model.answers.foata import CHUNK
from streamlab.workloads.model.streams.stream import Columns, IntArray


def late_rows(columns: Columns) -> IntArray:
    """Return, ascending, the rows with a lower time than an earlier row."""
    ts = columns["ts"].astype(np.int64, copy=False)
    late = [np.empty(0, dtype=np.int64)]
    latest = np.iinfo(np.int64).min
    for begin in range(0, len(ts), CHUNK):
        reached = np.maximum.accumulate(np.maximum(ts[begin : begin + CHUNK], latest))
        late.append(begin + np.flatnonzero(ts[begin : begin + CHUNK] < reached))
        latest = int(reached[-1])
    return np.concatenate(late)


def late_examples(columns: Columns, late: IntArray, limit: int) -> list[Example]:
    """Return the first `limit` late rows as examples, each with the latest time before it."""
    ts = columns["ts"]
    return [
        Example(
            fault="out of order",
            text=f"row {row}: {in_words(columns, row)}, after a row of time {ts[:row].max()}",
            position=row,
        )
        for row in late[:limit].tolist()
    ]
