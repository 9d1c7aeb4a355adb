"""Exchanges files with an engine's own process: columns of events, and output rows with the events that made them."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines import environment
from streamlab.engines.command_process import CommandProcess
from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import IntArray, Measured, OfferedLoad, Task
from streamlab.engines.recording import OpenRun, measured
from streamlab.workloads.model import Columns, Input, ListColumn, Stream
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.streams.total_order import merge

CEILING_EVENTS = 4_000_000
"""Number of events in the measurement of a source's highest rate."""

LONG, INT = np.dtype("<i8"), np.dtype("<i4")
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
FileColumns = dict[str, tuple[npt.NDArray[Any], np.dtype[Any]]]
"""The columns of a stream, each with its type in its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Maps a workload's columns to the columns of the process's files.

    Attributes:
        values: for each kind, the column with an event's `value`; None if the kind has no value.
        items: the list column of an event; None if it has no list.
        key: the column with an event's `key`; None to use the event's key in the alphabet.
        answer: the field of ROW for each column of the output except `ts`.
        windows: whether the ends of windows make the rows; if False, events make them.
        delay_ms: event time from an event to its rows.
    """

    values: tuple[str | None, ...]
    items: str | None = None
    key: str | None = None
    answer: Mapping[str, str]
    windows: bool = False
    delay_ms: int = 0


def write_properties(lines: Mapping[str, object], folder: Path) -> None:
    """Write job.properties; leave out values that are None."""
    text = "".join(f"{name}={value}\n" for name, value in lines.items() if value is not None)
    (folder / "job.properties").write_text(text, encoding="utf-8")


def write_columns(columns: FileColumns, index: int, folder: Path) -> None:
    """Write the columns of stream `index`."""
    for name, (values, dtype) in columns.items():
        np.ascontiguousarray(values, dtype=dtype).tofile(folder / f"{index}.{name}")


def load_columns(load: OfferedLoad | None, index: int) -> FileColumns:
    """Return when the events and heartbeats of stream `index` are due; empty without a load."""
    if load is None:
        return {}
    return {
        "due_ns": (load.due_ns[index], LONG),
        "beat_ts": (load.heartbeat_ts[index], LONG),
        "beat_due_ns": (load.heartbeat_due_ns[index], LONG),
    }


def event_columns(stream: Stream, shape: Shape, kinds: int) -> FileColumns:
    """Return the columns of a stream's events."""
    columns: FileColumns = {"ts": (stream.ts, LONG)}
    if stream.tag is not None:
        columns["tag"] = (stream.tag, INT)
    if shape.key is not None:
        columns["tag"] = (_tags(stream, shape.key, kinds), INT)
    value = _value(stream, shape, kinds)
    if value is not None:
        columns["value"] = (value, LONG)
    if shape.items is not None:
        items = stream.payload[shape.items]
        assert isinstance(items, ListColumn)
        packed_lists = items.packed()
        columns["list_end"] = (packed_lists.offsets[1:], INT)
        columns["list"] = (packed_lists.values, INT)
    return columns


def _tags(stream: Stream, key: str, kinds: int) -> IntArray:
    """Return tags whose keys are the values of a column."""
    kind = stream.kinds[0] if stream.tag is None else stream.tag % kinds
    tags: IntArray = np.asarray(stream.payload[key]).astype(np.int64) * kinds + kind
    if len(tags) and not 0 <= tags.min() <= tags.max() <= np.iinfo(INT).max:
        raise EngineError(
            f"column {key} of stream {stream.name} has values up to {tags.max() // kinds}, and the engine's keys "
            "have 32 bits; use fewer events"
        )
    return tags


def _value(stream: Stream, shape: Shape, kinds: int) -> npt.NDArray[Any] | None:
    """Return the value of each event, from the column of its kind; None if the stream has no values."""
    columns = {kind: shape.values[kind] for kind in stream.kinds if shape.values[kind] is not None}
    if not columns:
        return None
    kind_of_event = np.full(len(stream), stream.kinds[0])
    if stream.tag is not None:
        kind_of_event = stream.tag % kinds
    value = np.zeros(len(stream), dtype=LONG)
    for kind, column in columns.items():
        rows = kind_of_event == kind
        value[rows] = np.asarray(stream.payload[str(column)])[rows]
    return value


def measure_ceiling(
    engine: str,
    packages: Environment,
    settings: Mapping[str, object],
    start: Callable[[Path], CommandProcess],
) -> float:
    """Return how many events/s one source, whose events are all due, sends to a task that drops them.

    This is a lower bound, because a job with more workers has more sources. `settings` are the engine's own.

    Raises:
        EngineError: the engine's environment cannot be used.
    """
    reason = environment.unusable_reason(engine, packages)
    if reason is not None:
        raise EngineError(reason)
    times, no_times = np.arange(CEILING_EVENTS), np.empty(0)
    columns = {
        "ts": times,
        "due_ns": np.zeros_like(times),
        "beat_ts": no_times,
        "beat_due_ns": no_times,
    }
    job = {"workload": "nothing", "variant": "ceiling", "workers": 1, "offered": "yes"}
    stream = {"streams": 1, "kinds": 1, "kinds_of.0": 0}
    with tempfile.TemporaryDirectory(prefix=f"{engine}-ceiling-") as name:
        folder = Path(name)
        write_columns({name: (values, LONG) for name, values in columns.items()}, 0, folder)
        write_properties({**job, **stream, **settings}, folder)
        process = start(folder)
        try:
            process.ready()
            took_ns, events = process.ask("go")
            return events * 1e9 / took_ns
        finally:
            process.close()


def last_window_end(data: Input) -> int:
    """Return the latest time at which windows may end: that of the last event, or the time just before the cut."""
    if data.until_ts is not None:
        return data.until_ts - 1
    return max((int(stream.ts[-1]) for stream in data.streams if len(stream)), default=-1)


def read_rows(folder: Path, parts: int, *, timed: bool) -> Rows:
    """Return the rows of all parts, each in its order, merged by place.

    A row's place is the place of the event that made it. A row that is late in its part stays late: it takes the place
    of the latest row before it. If `timed`, rows have their time of arrival, `emit_ns`.
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


def answer(task: Task, shape: Shape, rows: Rows) -> Columns:
    """Return the columns of the program's output."""
    output = task.workload.program.output
    fields = {"ts": "ts", **shape.answer}
    columns = {name: rows[fields[name]].astype(output[name]) for name in output.names or ()}
    columns["ts"] += shape.delay_ms
    return columns


def measure_load(
    task: Task,
    data: Input,
    rows: Rows,
    by_time: npt.NDArray[np.bool_],
    plan: str,
    counters: dict[str, float],
) -> Measured:
    """Return the measurements of a run under a load.

    The passing of event time makes row m if `by_time[m]`; otherwise an event makes it.
    """
    assert task.load is not None
    folder = task.scratch
    tick_ns = arrival_tick_ns(task.workload.program)
    order = merge(data, task.workload.program).order
    due_ns = np.concatenate(task.load.due_ns)[order]
    sent, done = (_times(data, folder, name)[order] for name in ("sent_ns", "done_ns"))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    first = np.cumsum([0, *(len(stream) for stream in data.streams)])
    made_by = np.empty(len(rows), dtype=np.int64)
    made_by[~by_time] = position[(first[rows["stream"]] + rows["row"])[~by_time]]
    ends = rows["ts"][by_time].astype(np.int64)
    if tick_ns is None:
        ts = np.concatenate([stream.ts for stream in data.streams])[order]
        due_of_ends = due_of_times(task.load, data, ends)
    else:  # Time also passes between events, up to the last event.
        ts = due_ns // tick_ns
        due_of_ends = np.minimum(ends * tick_ns, due_ns.max(initial=0))
    made_by[by_time] = np.minimum(np.searchsorted(ts, ends), len(ts) - 1)
    cause_due_ns = due_ns[made_by]
    cause_due_ns[by_time] = due_of_ends
    run = OpenRun(
        due_ns=due_ns,
        sent_ns=sent,
        taken_ns=sent,
        done_ns=done,
        made_by=made_by,
        cause_due_ns=cause_due_ns,
        emit_ns=rows["emit_ns"].astype(np.int64),
    )
    return measured(run, task.load, plan=plan, counters=counters)


def due_of_times(load: OfferedLoad, data: Input, times: IntArray) -> IntArray:
    """Return when the watermark is due to reach each time, in ns after the start.

    Events, heartbeats, or the end of each stream advance the watermark, as in the native engine
    (`due_of_watermark` in oplus/instance.h).
    """
    due = np.zeros(len(times), dtype=np.int64)
    for index, stream in enumerate(data.streams):
        event_due, beat_due = load.due_ns[index], load.heartbeat_due_ns[index]
        end_ns = max(
            (int(due_ns[-1]) for due_ns in (event_due, beat_due) if len(due_ns)), default=0
        )
        event = np.searchsorted(stream.ts, times)
        beat = np.searchsorted(load.heartbeat_ts[index], times - 1)
        stream_due = np.minimum(
            np.append(event_due, end_ns)[event], np.append(beat_due, end_ns)[beat]
        )
        np.maximum(due, stream_due, out=due)
    return due


def count_from(start_ns: int, rows: Rows, folder: Path, streams: int) -> None:
    """Subtract the start of a load from the times in `rows` (in place) and in the event files of all streams."""
    rows["emit_ns"] -= start_ns
    for index in range(streams):
        path = folder / f"{index}.done_ns"
        (np.fromfile(path, dtype=LONG) - start_ns).tofile(path)


def _times(data: Input, folder: Path, name: str) -> IntArray:
    streams: list[npt.NDArray[Any]] = [
        np.fromfile(folder / f"{index}.{name}", dtype="<i8") for index in range(len(data.streams))
    ]
    return np.concatenate(streams).astype(np.int64)
