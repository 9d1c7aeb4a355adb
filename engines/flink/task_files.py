"""Writes a task for the Java process, as files that it reads before the clock starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.flink.workloads import SHAPES, Shape
from streamlab.engines.protocol import Task
from streamlab.workloads.model import Input, ListColumn, Stream

LONG, INT = np.dtype("<i8"), np.dtype("<i4")


def write_task(task: Task, data: Input, settings: Mapping[str, object], folder: Path) -> None:
    """Write the columns of an input and the settings of the job (see Job.java, Stream.java)."""
    shape = SHAPES[task.workload.name]
    kinds = len(data.alphabet.kinds)
    lines: dict[str, object] = {
        "workload": task.workload.name,
        "variant": task.variant,
        "workers": task.workers,
        "offered": "no" if task.load is None else "yes",
        "streams": len(data.streams),
        "kinds": kinds,
        "keys": data.alphabet.keys,
        "until": _until(data),
        **task.workload.query_params,
        **settings,
    }
    for index, stream in enumerate(data.streams):
        lines[f"kinds_of.{index}"] = ",".join(map(str, stream.kinds))
        columns = _columns(stream, shape, kinds)
        if task.load is not None:
            columns["due_ns"] = (task.load.due_ns[index], LONG)
            columns["beat_ts"] = (task.load.heartbeat_ts[index], LONG)
            columns["beat_due_ns"] = (task.load.heartbeat_due_ns[index], LONG)
        for name, (values, dtype) in columns.items():
            np.ascontiguousarray(values, dtype=dtype).tofile(folder / f"{index}.{name}")
    write_lines(lines, folder)


def write_lines(lines: Mapping[str, object], folder: Path) -> None:
    """Write job.properties (see Job.java)."""
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    (folder / "job.properties").write_text(text, encoding="ascii")


def warm_up_rows(data: Input, events: int) -> list[int]:
    """Return how many rows of each stream form a prefix in event time of about `events` events."""
    if data.events <= events:
        return [len(stream) for stream in data.streams]
    times = np.concatenate([stream.ts for stream in data.streams])
    cut = np.partition(times, events)[events]
    return [int(np.searchsorted(stream.ts, cut, side="left")) for stream in data.streams]


def input_bytes(data: Input) -> int:
    """Return the approximate memory of the columns in Java."""
    lists = [
        len(values.values)
        for stream in data.streams
        for values in stream.payload.values()
        if isinstance(values, ListColumn)
    ]
    return data.events * (LONG.itemsize * 2 + INT.itemsize) + sum(lists) * INT.itemsize


def _until(data: Input) -> int:
    """Return the last event time at which windows may end: that of the last event, or the time before the cut."""
    if data.until_ts is not None:
        return data.until_ts - 1
    return max((int(stream.ts[-1]) for stream in data.streams if len(stream)), default=-1)


def _columns(
    stream: Stream, shape: Shape, kinds: int
) -> dict[str, tuple[npt.NDArray[Any], np.dtype[Any]]]:
    columns: dict[str, tuple[npt.NDArray[Any], np.dtype[Any]]] = {"ts": (stream.ts, LONG)}
    if stream.tag is not None:
        columns["tag"] = (stream.tag, INT)
    value = _value(stream, shape, kinds)
    if value is not None:
        columns["value"] = (value, LONG)
    if shape.items is not None:
        items = stream.payload[shape.items]
        assert isinstance(items, ListColumn)
        packed = items.packed()
        columns["list_end"] = (packed.offsets[1:], INT)
        columns["list"] = (packed.values, INT)
    return columns


def _value(stream: Stream, shape: Shape, kinds: int) -> npt.NDArray[Any] | None:
    """Return the value of each event by its kind."""
    columns = {kind: shape.values[kind] for kind in stream.kinds if shape.values[kind] is not None}
    if not columns:
        return None
    if len(stream.kinds) == 1:
        return _numbers(stream, columns[stream.kinds[0]])
    assert stream.tag is not None
    kinds_of_events = stream.tag % kinds
    value = np.zeros(len(stream), dtype=LONG)
    for kind, column in columns.items():
        rows = kinds_of_events == kind
        value[rows] = _numbers(stream, column)[rows]
    return value


def _numbers(stream: Stream, column: str | None) -> npt.NDArray[Any]:
    assert column is not None
    values = stream.payload[column]
    assert not isinstance(values, ListColumn)
    return values
