"""Cuts a dataset off at an event time: the events of an open-loop run that is to last so long.

A program's output carries the timestamp of the event that caused it (a law of `DGSProgram`), or
that of the instant that the watermark passed, or is at most `OutputType.delay` later than its event
(operators, for cuts at multiples of `OutputType.grid`). So the answer for a dataset that is cut at
an event time is the whole answer cut at the same event time plus the delay: one oracle run serves
all cuts.
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
    """Read the timestamps of every stream, and nothing else.

    Raises:
        DatasetError: a file is missing or damaged.
    """
    return tuple(load_column(stream, "ts") for stream in dataset.streams)


def before(dataset: Dataset, times: Sequence[IntArray], until_ts: int) -> Dataset:
    """Return the dataset without the events at or after an event time.

    Args:
        dataset: a whole one.
        times: its timestamps, from `event_times`.
        until_ts: the first event time that does not belong to it.
    """
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


def answer_before(answer: Columns, until_ts: int, output: OutputType) -> Columns:
    """Return the records of an answer that belong to a dataset cut at `until_ts`, in order.

    Args:
        answer: for the whole dataset.
        until_ts: where it is cut.
        output: of the workload.

    Raises:
        DatasetError: the output cannot be cut there.
    """
    if until_ts % output.grid:
        raise DatasetError(
            f"the dataset is cut at event time {until_ts}; this workload's answer can only be cut "
            f"at multiples of {output.grid}"
        )
    kept = np.less(answer["ts"], until_ts + output.delay)
    return {name: column[kept] for name, column in answer.items()}
