"""Reads the files that the Java process wrote: the answer, sorted, and the times of a load."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.flink.workloads import SHAPES
from streamlab.engines.protocol import IntArray, Measured, Task
from streamlab.engines.recording import OpenRun, measured
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.model.streams.total_order import merge

ROW = [
    ("ts", "<i8"),
    ("stream", "<i4"),
    ("row", "<i4"),
    ("kind", "<i4"),
    ("key", "<i4"),
    ("value", "<i8"),
    ("other", "<i8"),
]
Rows = npt.NDArray[np.void]


def read_rows(folder: Path, parts: int, *, timed: bool) -> Rows:
    """Return the rows of all parts (Part.java), each in its order, merged by place.

    A row's place is that of the event that made it. A row that is late in its part stays late: it takes the place of
    the latest row before it. `timed` rows have their time of arrival, `emit_ns`.
    """
    dtype = np.dtype([*ROW, ("emit_ns", "<i8")] if timed else ROW)
    by_part = [np.fromfile(folder / f"{part}.part", dtype=dtype) for part in range(parts)]
    rows = np.concatenate([np.empty(0, dtype=dtype), *by_part])
    rank = np.empty(len(rows), dtype=np.int64)
    rank[np.lexsort((rows["row"], rows["stream"], rows["ts"]))] = np.arange(len(rows))
    begin = 0
    for part_rows in by_part:
        ranks = rank[begin : begin + len(part_rows)]
        np.maximum.accumulate(ranks, out=ranks)
        begin += len(part_rows)
    return rows[np.argsort(rank, kind="stable")]


def answer(task: Task, rows: Rows) -> Columns:
    """Return the columns of the program's output."""
    output = task.workload.program.output
    fields = {"ts": "ts", **SHAPES[task.workload.name].answer}
    return {name: rows[fields[name]].astype(output[name]) for name in output.names or ()}


def of_load(
    task: Task, data: Input, rows: Rows, folder: Path, plan: str, counters: dict[str, float]
) -> Measured:
    """Return the measurements of a run under a load."""
    assert task.load is not None
    order = merge(data, task.workload.program).order
    sent, done = (_times(data, folder, name)[order] for name in ("sent_ns", "done_ns"))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    first = np.cumsum([0, *(len(stream) for stream in data.streams)])
    run = OpenRun(
        due_ns=np.concatenate(task.load.due_ns)[order],
        sent_ns=sent,
        taken_ns=sent,
        done_ns=done,
        made_by=position[first[rows["stream"]] + rows["row"]],
        emit_ns=rows["emit_ns"].astype(np.int64),
    )
    return measured(run, task.load, plan=plan, counters=counters)


def _times(data: Input, folder: Path, name: str) -> IntArray:
    streams: list[npt.NDArray[Any]] = [
        np.fromfile(folder / f"{index}.{name}", dtype="<i8") for index in range(len(data.streams))
    ]
    return np.concatenate(streams).astype(np.int64)
