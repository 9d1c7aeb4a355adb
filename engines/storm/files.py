"""Exchanges files with the Java process: the input and settings of a job, and the sinks' rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from streamlab.engines.protocol import IntArray, Task
from streamlab.workloads.model import Columns, Input

RECORD = np.dtype(
    [
        *(("ts", "<i8"), ("type", "i1"), ("vid", "<i4"), ("speed", "<i2"), ("xway", "<i2")),
        *(("lane", "i1"), ("dir", "i1"), ("seg", "i1"), ("pos", "<i4")),
    ]
)
"""An output row of `layers`: a record of Linear Road, as Event.java writes it."""
Rows = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyOptions:
    """Options of all variants; docs/engines/storm.md has more.

    Attributes:
        heap_mb: size of Java's heap; 0 for a size that fits the input.
        warm_up_events: number of events in the prefix for the warm-up; 0 for no warm-up.
    """

    heap_mb: Annotated[int, Meta(ge=0)] = 0
    warm_up_events: Annotated[int, Meta(ge=0)] = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions(TopologyOptions):
    """Options of variant `layers`.

    Attributes:
        determinism: whether channels or operators order the records.
        dealing: how records without a key go to instances: by time or in turn.
    """

    determinism: Literal["communication", "operator"] = "communication"
    dealing: Literal["time", "turn"] = "time"


def input_row(task: Task) -> np.dtype[np.void]:
    """Return the type of an input row in a file: the time and 32-bit fields (Rows.java)."""
    return np.dtype([("ts", "<i8"), *((name, "<i4") for name in _fields(task))])


def _fields(task: Task) -> tuple[str, ...]:
    return task.workload.program.event.names or ()


def layers_settings(task: Task, data: Input, options: LayersOptions) -> Mapping[str, object]:
    """Return the settings of variant `layers`."""
    return {
        "spouts": len(data.streams),
        "sinks": task.workers,
        "answer_bytes": RECORD.itemsize,
        "determinism": options.determinism,
        "dealing": options.dealing,
    }


def write_job(task: Task, data: Input, warm_up_events: int, settings: Mapping[str, object]) -> None:
    """Write the rows of each stream and job.properties (Job.java) to the task's folder."""
    first, last = extent(data)
    warm_up_end = _warm_up_end(data, warm_up_events)
    row = input_row(task)
    complete = {
        "workload": task.workload.name,
        "variant": task.variant,
        "workers": task.workers,
        "streams": len(data.streams),
        "fields": len(_fields(task)),
        "first": first,
        "span": span(data),
        "last_time": last if data.until_ts is None else max(last, data.until_ts - 1),
        "last_warm_up_time": warm_up_end - 1,
        **settings,
    }
    for index, stream in enumerate(data.streams):
        rows = np.empty(len(stream), dtype=row)
        rows["ts"] = stream.ts
        for name in _fields(task):
            rows[name] = stream.payload[name]
        rows.tofile(task.scratch / f"{index}.rows")
        warm_up_rows = np.searchsorted(stream.ts, warm_up_end, side="left")
        complete[f"warm_up_rows.{index}"] = int(warm_up_rows) if warm_up_events else 0
    text = "".join(f"{name}={value}\n" for name, value in complete.items())
    (task.scratch / "job.properties").write_text(text, encoding="utf-8")


def extent(data: Input) -> tuple[int, int]:
    """Return the first and the last event time of an input; 0 without events."""
    times = [stream.ts for stream in data.streams if len(stream)]
    if not times:
        return 0, 0
    return min(int(ts[0]) for ts in times), max(int(ts[-1]) for ts in times)


def span(data: Input) -> int:
    """Return the length of a phase (warm-up or run) in event time, including one millisecond for its end."""
    first, last = extent(data)
    return last - first + 2


def _warm_up_end(data: Input, events: int) -> int:
    """Return the event time before which there are about `events` events."""
    if data.events <= events:
        return extent(data)[1] + 1
    times = np.concatenate([stream.ts for stream in data.streams])
    return int(np.partition(times, events)[events])


def read_sinks(folder: Path, sinks: int, row: np.dtype[np.void]) -> list[Rows]:
    """Return the rows of each sink in the order of their arrival."""
    return [np.fromfile(folder / f"{sink}.answer", dtype=row) for sink in range(sinks)]


def answer(by_sink: Sequence[Rows]) -> Columns:
    """Return the columns of the answer, merged by time and sink.

    A row that reached its sink late stays late: it takes the time of the latest row before it.
    """
    times: list[IntArray] = [np.maximum.accumulate(rows["ts"]) for rows in by_sink]
    order = np.argsort(np.concatenate(times), kind="stable")
    rows = np.concatenate(by_sink)[order]
    return {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
