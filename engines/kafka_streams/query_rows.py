"""Reads the files that the tasks of a query's last step wrote: rows of the answer, and each task's progress.

A row has the time, stream and row of the event that made it, the fields of the output, and under a load its time of
arrival. If the passing of time made a row, its stream is -1 (Output.java).
"""

from pathlib import Path

import numpy as np

from streamlab.engines.event_files import LONG, Rows, last_window_end
from streamlab.engines.protocol import Task
from streamlab.workloads.model import Columns, Input, Pipeline
from streamlab.workloads.model.operators.program import arrival_tick_ns

_BOUND = np.dtype([("bound", LONG), ("at_ns", LONG)])
"""A task's progress: from `at_ns` on, the task makes no rows with times before `bound`."""


def read_rows(task: Task, data: Input, folder: Path, parts: int) -> Rows:
    """Return the rows of all tasks: a pipeline's by the events that made them, others' by all columns of the output.

    Rows of windows that are open when the input ends are omitted.
    """
    program = task.workload.program
    names = program.output.names or ()
    fields = [
        (name, "<f8" if program.output[name].kind == "f" else "<i8")
        for name in names
        if name != "ts"
    ]
    stamp = [] if task.load is None else [("emit_ns", "<i8")]
    dtype = np.dtype([("ts", "<i8"), ("stream", "<i8"), ("row", "<i8"), *fields, *stamp])
    by_part = [np.fromfile(folder / f"{part}.part", dtype=dtype) for part in range(parts)]
    rows = np.concatenate([np.empty(0, dtype=dtype), *by_part])
    order: tuple[str, ...] = ("ts", "stream", "row")
    if not isinstance(program, Pipeline):
        order, rows = names, rows[rows["ts"] <= last_window_end(data)]
    return rows[np.lexsort([rows[name] for name in reversed(order)])]


def answer(task: Task, rows: Rows) -> Columns:
    """Return the columns of the program's output."""
    output = task.workload.program.output
    return {name: rows[name].astype(output[name]) for name in output.names or ()}


def write_done(task: Task, data: Input, folder: Path, parts: int, start_ns: int) -> None:
    """Write, for each event, when the last step had passed the event's time.

    This replaces the time at which the first step took the event, so that events between two steps count as backlog.
    All times count from the start of the load.
    """
    tasks = [np.fromfile(folder / f"{part}.bounds", dtype=_BOUND) for part in range(parts)]
    tick_ns = arrival_tick_ns(task.workload.program)
    for index, stream in enumerate(data.streams):
        path = folder / f"{index}.done_ns"
        times = stream.ts if tick_ns is None else np.fromfile(path, dtype=LONG) // tick_ns
        done = np.zeros(len(times), dtype=LONG)
        for bounds in tasks:
            first_bound_after = np.searchsorted(bounds["bound"], times, side="right")
            np.maximum(done, bounds["at_ns"][first_bound_after] - start_ns, out=done)
        done.tofile(path)
