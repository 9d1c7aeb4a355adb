"""Writes the files of a task for the Java process, and reads the answer of a query in SQL."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.declared_queries import GENERATED, order_of_windows
from streamlab.engines.event_files import (
    INT,
    LONG,
    FileColumns,
    Rows,
    event_columns,
    last_window_end,
    load_columns,
    write_columns,
    write_properties,
)
from streamlab.engines.flink.generated import KIND
from streamlab.engines.flink.workloads import SHAPES, SQL, UPDATED
from streamlab.engines.protocol import IntArray, Task
from streamlab.workloads.declarative.declaration import (
    LEFT,
    MATCHED,
    OUTER,
    RIGHT,
    SESSION,
    Column,
    Declaration,
    JoinStep,
    WindowStep,
)
from streamlab.workloads.model import Columns, Input, ListColumn, Pipeline, Stream

DOUBLE = np.dtype("<f8")


def write_task(task: Task, data: Input, settings: Mapping[str, object], folder: Path) -> None:
    """Write the columns of an input and the settings of the job (see Job.java, Stream.java)."""
    kinds = len(data.alphabet.kinds)
    is_query = task.variant in (GENERATED, SQL)
    lines: dict[str, object] = {
        "workload": task.workload.name,
        "variant": GENERATED if is_query else task.variant,
        "workers": task.workers,
        "offered": "no" if task.load is None else "yes",
        "streams": len(data.streams),
        "kinds": kinds,
        "keys": data.alphabet.keys,
        "until": last_window_end(data),
        **task.workload.query_params,
        **settings,
    }
    read = _columns_read(task) if is_query else ()
    lines["updates"] = "yes" if task.variant == SQL and task.workload.name in UPDATED else "no"
    lines["columns"] = ",".join(f"{column.name}:{_type(column)[0]}" for column in read)
    lines["time_per_event"] = _time_per_event(data)
    for index, stream in enumerate(data.streams):
        lines[f"rows.{index}"] = len(stream)
        lines[f"kinds_of.{index}"] = ",".join(map(str, stream.kinds))
        if is_query:
            columns = _query_columns(stream, read, kinds)
        else:
            columns = event_columns(stream, SHAPES[task.workload.name], kinds)
        if task.load is not None:
            columns |= load_columns(task.load, index)
            columns["beat_ts"] = (_heartbeats(task, data, index), LONG)
        write_columns(columns, index, folder)
    write_properties(lines, folder)


def _heartbeats(task: Task, data: Input, index: int) -> IntArray:
    """Return the event times of a stream's heartbeats.

    Flink closes a window as soon as a watermark allows, but the model waits for the first event after the window. If
    windows make the rows, a heartbeat is therefore limited to a time before the latest event that is due.
    """
    assert task.load is not None
    beats = task.load.heartbeat_ts[index]
    if not SHAPES[task.workload.name].windows:
        return beats
    due = np.sort(np.concatenate(task.load.due_ns))
    ts = np.sort(np.concatenate([stream.ts for stream in data.streams]))
    sent = np.searchsorted(due, task.load.heartbeat_due_ns[index], side="right")
    limits: IntArray = np.where(sent > 0, ts[np.maximum(sent, 1) - 1] - 1, ts[0] - 1)
    return np.minimum(beats, limits)


def warm_up_rows(data: Input, events: int) -> list[int]:
    """Return how many rows of each stream are in the first `events` events, or in slightly fewer if times are equal."""
    if data.events <= events:
        return [len(stream) for stream in data.streams]
    times = np.concatenate([stream.ts for stream in data.streams])
    cut = np.partition(times, events)[events]
    return [int(np.searchsorted(stream.ts, cut, side="left")) for stream in data.streams]


def input_bytes(data: Input) -> int:
    """Return the approximate memory of the columns in Java, in bytes."""
    list_lengths = [
        len(values.values)
        for stream in data.streams
        for values in stream.payload.values()
        if isinstance(values, ListColumn)
    ]
    return data.events * (LONG.itemsize * 2 + INT.itemsize) + sum(list_lengths) * INT.itemsize


def _time_per_event(data: Input) -> float:
    times = [stream.ts for stream in data.streams if len(stream)]
    if not times:
        return 0.0
    return float(max(ts[-1] for ts in times) - min(ts[0] for ts in times)) / data.events


def _type(column: Column) -> tuple[str, np.dtype[Any]]:
    """Return the type of a column in a query's table, and its type in the column's file (see Sql.java)."""
    if column.dtype.kind == "f":
        return "double", DOUBLE
    return ("boolean", INT) if column.dtype.kind == "b" else ("long", LONG)


def _columns_read(task: Task) -> tuple[Column, ...]:
    """Return the columns of a query's table. A join's table has the columns of both sides and KIND."""
    if task.variant == SQL:
        fields = task.workload.program.event
        return tuple(Column(name=name, dtype=fields[name]) for name in fields.names or ())
    declaration: Declaration = task.workload.declaration
    first = declaration.steps()[0]
    if not isinstance(first.step, JoinStep):
        return first.reads
    sides = (*first.step.keys, *first.step.columns[LEFT], *first.step.columns[RIGHT])
    return (Column(name=KIND, dtype=LONG), *sides)


def _query_columns(stream: Stream, read: Sequence[Column], kinds: int) -> FileColumns:
    columns: FileColumns = {"ts": (stream.ts, LONG)}
    for number, column in enumerate(read):
        dtype = _type(column)[1]
        if column.name == KIND:
            values = np.full(len(stream), stream.kinds[0])
            values = values if stream.tag is None else stream.tag % kinds
        else:  # A stream has only the columns of its kinds.
            values = np.asarray(stream.payload.get(column.name, np.zeros(len(stream), dtype)))
        columns[f"column.{number}"] = values, dtype
    return columns


def query_answer(task: Task, data: Input, folder: Path, parts: int) -> Columns:
    """Return a query's answer as columns, with the rows in order (see Sql.java)."""
    program, declaration = task.workload.program, task.workload.declaration
    names = program.output.names or ()
    output = [Column(name=name, dtype=program.output[name]) for name in names]
    on_rows, order = isinstance(program, Pipeline), names
    if isinstance(declaration, Declaration):
        on_rows, order = declaration.on_rows, order_of_windows(declaration)
    fields = [(column.name, _type(column)[1]) for column in output]
    if on_rows:
        fields += [("src_", LONG), ("row_", LONG)]
        order = ("ts", "src_", "row_")
    dtype = np.dtype([(name, DOUBLE if kind == DOUBLE else LONG) for name, kind in fields])
    by_part = [np.fromfile(folder / f"{part}.part", dtype=dtype) for part in range(parts)]
    rows = np.concatenate([np.empty(0, dtype=dtype), *by_part])
    rows = rows[np.lexsort([rows[name] for name in reversed(order)])]
    if isinstance(declaration, Declaration):
        rows = rows[_is_in_model(declaration, rows, last_window_end(data))]
    elif on_rows:
        # Keep the first version of an updated row. All versions are in one part, and the sort is stable.
        places = rows[["src_", "row_"]]
        rows = rows[np.r_[True, places[1:] != places[:-1]][: len(rows)]]
    else:
        rows = rows[rows["ts"] <= last_window_end(data)]
    return {column.name: rows[column.name].astype(column.dtype) for column in output}


def _is_in_model(declaration: Declaration, rows: Rows, last_end: int) -> npt.NDArray[np.bool_]:
    """Return which rows the answer keeps: at the end of the input, Flink also closes windows that are still open."""
    if declaration.on_rows:
        return np.ones(len(rows), dtype=np.bool_)
    closed = rows["ts"] <= last_end
    step = declaration.step
    if isinstance(step, JoinStep):
        return np.asarray(closed | (rows[MATCHED] != 0 if step.how == OUTER else True))
    if isinstance(step, WindowStep) and step.kind == SESSION:
        # A later session of the key also ends a session.
        keys = [rows[name] for name in declaration.keys]
        order = np.lexsort((rows["last"], *keys))
        has_successor = np.ones(max(len(rows) - 1, 0), dtype=np.bool_)
        for key in keys:
            has_successor &= key[order[1:]] == key[order[:-1]]
        closed[order[:-1]] |= has_successor
    return np.asarray(closed)
