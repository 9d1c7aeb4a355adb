"""One table a trial on a 100 ms grid: what the engine counted, and what the lab sampled beside it.

| column | what it holds |
|---|---|
| t_ns | begin of the row, after the start of the timed part; below 0 in the preparation |
| timed | whether the row begins in the timed part |
| phase | `prepare`, `warm_up`, `window`, `drain`; the timed part of catch-up is all `window` |
| emitted | events that the source handed over in the row |
| consumed | events that the engine was done with in the row |
| outputs | records emitted in the row |
| backlog | emitted less consumed, at the end of the row |
| latency_p50_ns, latency_p99_ns, latency_max_ns | of the outputs of the row |
| cpu_s | user and system time of the process tree since its start, at the row's last sample |
| instances | of an elastic operator: active instances at the end of the row |
| comparisons | of an elastic join: pairs that it compared in the row |
| load_cov | of an elastic operator: coefficient of variation of its instances' busy time |
| rss_bytes | resident memory of the process tree, at the row's last sample |
| energy_<domain>_j | joules since the recording began, at the row's last sample |

The columns of elasticity are there only for operators that have it. Null where a row has no value:
no sample fell into it, no output left in it, or the engine keeps no counts. Never 0 for unknown.
Rows cover [t_ns, t_ns + 100 ms).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import Elasticity, Progress
from streamlab.workloads.datasets.arrow import array_with_nulls

STEP_NS = 100_000_000

PREPARE = "prepare"
WARM_UP = "warm_up"
WINDOW = "window"
DRAIN = "drain"

Table = dict[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Something that was sampled: `values[i]` at `times_ns[i]` of the monotonic clock; NaN: not."""

    times_ns: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """When things happened.

    Attributes:
        start_ns, end_ns: the timed part, by the monotonic clock.
        warm_up_ns, load_end_ns: after the start: end of the warm-up and of the offered load; both
            None for catch-up.
    """

    start_ns: int
    end_ns: int
    warm_up_ns: int | None = None
    load_end_ns: int | None = None

    def phase(self, t_ns: int) -> str:
        """Return the phase in which a row begins that begins `t_ns` after the start."""
        if t_ns < 0:
            return PREPARE
        if self.warm_up_ns is not None and t_ns < self.warm_up_ns:
            return WARM_UP
        if self.load_end_ns is not None and t_ns >= self.load_end_ns:
            return DRAIN
        return WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """All that one trial recorded over time; `tracks` by column name."""

    phases: Phases
    progress: Progress | None = None
    elasticity: Elasticity | None = None
    tracks: Mapping[str, Track] = field(default_factory=dict)


def on_grid(recorded: Recorded) -> Table:
    """Return the table, column by column.

    Raises:
        ValueError: the progress has another step than 100 ms.
    """
    phases, progress = recorded.phases, recorded.progress
    if progress is not None and progress.step_ns != STEP_NS:
        raise ValueError(
            f"the engine's progress has steps of {progress.step_ns} ns, expected {STEP_NS}"
        )
    starts = [track.times_ns[0] for track in recorded.tracks.values() if track.times_ns]
    first = min(0, *((start - phases.start_ns) // STEP_NS for start in starts), 0)
    duration_ns = phases.end_ns - phases.start_ns
    counted = 0 if progress is None else len(progress.emitted)
    scaled = 0 if recorded.elasticity is None else len(recorded.elasticity.instances)
    end = max(-(-duration_ns // STEP_NS), counted, scaled, 1)
    t_ns = [row * STEP_NS for row in range(first, end)]
    table: Table = {
        "t_ns": t_ns,
        "timed": [0 <= t < max(duration_ns, 1) for t in t_ns],
        "phase": [phases.phase(t) for t in t_ns],
    }
    table |= _counted(progress, first, end)
    if recorded.elasticity is not None:
        table |= _scaled(recorded.elasticity, first, end)
    for name, track in recorded.tracks.items():
        table[name] = _last_in_row(track, phases.start_ns, first, end)
    return table


def write_series(recorded: Recorded, path: Path) -> None:
    """Write the table as Parquet, whole or not at all."""
    import pyarrow as pa  # heavy: not while the clock runs
    import pyarrow.parquet as pq

    table = on_grid(recorded)
    whole = ("t_ns", "rss_bytes", *_COUNTED, "instances", "comparisons")
    types = {name: pa.int64() for name in whole} | {"timed": pa.bool_(), "phase": pa.string()}
    arrays = {
        name: array_with_nulls(values, types.get(name, pa.float64()))
        for name, values in table.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    pq.write_table(pa.table(arrays), partial, write_page_checksum=True)
    partial.replace(path)


_COUNTED = (
    "emitted",
    "consumed",
    "outputs",
    "backlog",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
)


def _counted(progress: Progress | None, first: int, end: int) -> Table:
    if progress is None:
        return {name: [None] * (end - first) for name in _COUNTED}
    columns: dict[str, npt.NDArray[np.int64]] = {
        "emitted": progress.emitted,
        "consumed": progress.consumed,
        "outputs": progress.outputs,
        "backlog": np.cumsum(progress.emitted) - np.cumsum(progress.consumed),
        "latency_p50_ns": progress.latency_p50_ns,
        "latency_p99_ns": progress.latency_p99_ns,
        "latency_max_ns": progress.latency_max_ns,
    }
    table: Table = {}
    for name, values in columns.items():
        known: list[int | None] = [int(value) for value in values]
        if name.startswith("latency_"):
            known = [None if value is None or value < 0 else value for value in known]
        table[name] = [None] * -first + known + [None] * (end - len(known))
    return table


def _scaled(elasticity: Elasticity, first: int, end: int) -> Table:
    columns: dict[str, list[Any]] = {
        "instances": elasticity.instances.tolist(),
        "load_cov": [c if math.isfinite(c) else None for c in elasticity.load_cov.tolist()],
    }
    if elasticity.comparisons is not None:
        columns["comparisons"] = elasticity.comparisons.tolist()
    return {
        name: [None] * -first + values + [None] * (end - len(values))
        for name, values in columns.items()
    }


def _last_in_row(track: Track, start_ns: int, first: int, end: int) -> list[Any]:
    column: list[Any] = [None] * (end - first)
    for time_ns, value in zip(track.times_ns, track.values, strict=True):
        row = (time_ns - start_ns) // STEP_NS
        if math.isnan(value):
            continue
        if first <= row < end:
            column[row - first] = value
    return column
