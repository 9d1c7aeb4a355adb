"""Truncates a dataset at an event time, to limit how long an open-loop run lasts.

Law: the answer for a truncated dataset is the complete answer, truncated at the same event time plus
`OutputType.delay`. So one oracle run serves all cutoffs.

1. An output of a `DGSProgram` has the time of the event that caused it, or of the instant that the watermark passed.
2. An output of an operator is at most `OutputType.delay` later than its event, for cutoffs at multiples of
   `OutputType.grid`.
3. Outputs of a flush are later than the last event. No truncated dataset has them (`Dataset.flushed`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.stream_reader import load_column
from streamlab.workloads.model import Columns, OutputType
from streamlab.workloads.model.streams.stream import IntArray


def event_times(dataset: Dataset) -> tuple[IntArray, ...]:
    """Read the timestamps of every stream, and no other column.

    Raises:
        DatasetError: a file is missing or damaged.
    """
    return tuple(load_column(stream, "ts") for stream in dataset.streams)


def truncate(dataset: Dataset, times: Sequence[IntArray], until_ts: int) -> Dataset:
    """Return a complete dataset without the events at or after `until_ts`; `times` are its `event_times`."""
    streams = []
    for stream, ts in zip(dataset.streams, times, strict=True):
        rows = int(np.searchsorted(ts, until_ts, side="left"))
        streams.append(
            replace(
                stream,
                rows=rows,
                whole=stream,
                ts_min=int(ts[0]) if rows else 0,
                ts_max=int(ts[rows - 1]) if rows else 0,
                heartbeats=tuple(h for h in stream.heartbeats if h < until_ts),
            )
        )
    return replace(dataset, streams=tuple(streams), until_ts=until_ts)


def truncate_answer(answer: Columns, until_ts: int, output: OutputType) -> Columns:
    """Return the records of a complete answer that belong to a dataset truncated at `until_ts`, in order.

    Raises:
        DatasetError: `until_ts` is not a multiple of the output's grid.
    """
    if until_ts % output.grid:
        raise DatasetError(
            f"the dataset is cut at event time {until_ts}; this workload's answer can only be cut "
            f"at multiples of {output.grid}"
        )
    included = np.less(answer["ts"], until_ts + output.delay)
    return {name: column[included] for name, column in answer.items()}
