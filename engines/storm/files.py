"""Exchanges files with the Java process: the input and settings of a job, and the sinks' records."""

from collections.abc import Sequence
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
"""A record of Linear Road in a file; Rows.java and Answer.java have the same fields in this order."""
Rows = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions:
    """Options of variant `layers`, which docs/engines/storm.md describes; `heap_mb` 0 fits the input."""

    determinism: Literal["communication", "operator"] = "communication"
    dealing: Literal["time", "turn"] = "time"
    heap_mb: Annotated[int, Meta(ge=0)] = 0
    warm_up_events: Annotated[int, Meta(ge=0)] = 1_000_000


def write_job(task: Task, data: Input, options: LayersOptions) -> None:
    """Write the records of each stream and job.properties (Job.java) to the task's folder."""
    first, _ = _extent(data)
    settings = {
        "workload": task.workload.name,
        "workers": task.workers,
        "determinism": options.determinism,
        "dealing": options.dealing,
        "streams": len(data.streams),
        "first": first,
        "span": span(data),
        **{
            f"warm_up_rows.{index}": rows
            for index, rows in enumerate(_warm_up_rows(data, options.warm_up_events))
        },
    }
    for index, stream in enumerate(data.streams):
        records = np.empty(len(stream), dtype=RECORD)
        records["ts"] = stream.ts
        for name in RECORD.names or ():
            if name != "ts":
                records[name] = stream.payload[name]
        records.tofile(task.scratch / f"{index}.rows")
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    (task.scratch / "job.properties").write_text(text, encoding="utf-8")


def _extent(data: Input) -> tuple[int, int]:
    times = [stream.ts for stream in data.streams if len(stream)]
    if not times:
        return 0, 0
    return min(int(ts[0]) for ts in times), max(int(ts[-1]) for ts in times)


def span(data: Input) -> int:
    """Return the event time of a phase, with an instant for its end."""
    first, last = _extent(data)
    return last - first + 2


def _warm_up_rows(data: Input, events: int) -> Sequence[int]:
    """Return how many rows of each stream form a prefix in event time of about `events` events."""
    if not events:
        return [0] * len(data.streams)
    if data.events <= events:
        return [len(stream) for stream in data.streams]
    times = np.concatenate([stream.ts for stream in data.streams])
    cut = np.partition(times, events)[events]
    return [int(np.searchsorted(stream.ts, cut, side="left")) for stream in data.streams]


def read_sinks(folder: Path, sinks: int) -> list[Rows]:
    """Return the records of each sink in the order of their arrival."""
    return [np.fromfile(folder / f"{sink}.answer", dtype=RECORD) for sink in range(sinks)]


def answer(by_sink: Sequence[Rows]) -> Columns:
    """Return the columns of the answer, merged by time and sink.

    A record that reached its sink late stays late: it takes the time of the latest record before it.
    """
    times: list[IntArray] = [np.maximum.accumulate(rows["ts"]) for rows in by_sink]
    order = np.argsort(np.concatenate(times), kind="stable")
    rows = np.concatenate(by_sink)[order]
    return {name: np.ascontiguousarray(rows[name]) for name in RECORD.names or ()}
