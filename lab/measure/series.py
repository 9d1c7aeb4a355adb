"""Builds a trial's series: a table on a 100 ms grid with the engine's counts and the lab's samples.

| column | meaning |
|---|---|
| t_ns | start of the row, after the start of the timed part; negative during preparation |
| timed | whether the row starts in the timed part |
| phase | `prepare`, `warm_up`, `window`, `drain`; in catch-up the timed part is all `window` |
| emitted | events that the source handed over in the row |
| consumed | events that the engine completed in the row |
| outputs | records emitted in the row |
| backlog | emitted less consumed, at the end of the row |
| latency_p50_ns, latency_p99_ns, latency_max_ns | latency of the row's outputs |
| cpu_s | user and system time of the process tree since its start, at the row's last sample |
| instances | active instances of an elastic operator at the end of the row |
| comparisons | pairs that an elastic join compared in the row |
| load_cov | coefficient of variation of the busy time of an elastic operator's instances |
| rss_bytes | resident memory of the process tree, at the row's last sample |
| energy_<domain>_j | joules since the recording began, at the row's last sample |

A row covers [t_ns, t_ns + 100 ms).
A value is null, never 0, if the row has no sample or output, or the engine keeps no counts.
Only elastic operators have `instances`, `comparisons` and `load_cov`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.engines.protocol import Elasticity, Progress
from streamlab.workloads.datasets import pa, pq  # loaded after the clock has stopped
from streamlab.workloads.datasets.arrow import array_with_nulls

STEP_NS = 100_000_000

PREPARE = "prepare"
WARM_UP = "warm_up"
WINDOW = "window"
DRAIN = "drain"

Table = dict[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A sampled quantity: `values[i]` at `times_ns[i]` of the monotonic clock; NaN: no value."""

    times_ns: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Boundaries of a trial's phases.

    Attributes:
        start_ns, end_ns: timed part, by the monotonic clock.
        warm_up_ns, load_end_ns: end of the warm-up and of the offered load, after the start; None for
            catch-up.
    """

    start_ns: int
    end_ns: int
    warm_up_ns: int | None = None
    load_end_ns: int | None = None

    def phase(self, t_ns: int) -> str:
        """Return the phase of a row that starts `t_ns` after the start."""
        if t_ns < 0:
            return PREPARE
        if self.warm_up_ns is not None and t_ns < self.warm_up_ns:
            return WARM_UP
        if self.load_end_ns is not None and t_ns >= self.load_end_ns:
            return DRAIN
        return WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All time series of a trial; `tracks` by column name."""

    phases: Phases
    progress: Progress | None = None
    elasticity: Elasticity | None = None
    tracks: Mapping[str, Track] = field(default_factory=dict)


def grid_table(recording: Recording) -> Table:
    """Return the series of a trial, as columns by name.

    Raises:
        ValueError: the engine's progress has a step other than 100 ms.
    """
    phases, progress = recording.phases, recording.progress
    if progress is not None and progress.step_ns != STEP_NS:
        raise ValueError(
            f"the engine's progress has steps of {progress.step_ns} ns, expected {STEP_NS}"
        )
    starts = [track.times_ns[0] for track in recording.tracks.values() if track.times_ns]
    first = min([0, *((start - phases.start_ns) // STEP_NS for start in starts)])
    duration_ns = phases.end_ns - phases.start_ns
    columns = _engine_columns(progress, recording.elasticity)
    end = max(-(-duration_ns // STEP_NS), 1, *map(len, columns.values()))
    t_ns = [row * STEP_NS for row in range(first, end)]
    table: Table = {
        "t_ns": t_ns,
        "timed": [0 <= t < max(duration_ns, 1) for t in t_ns],
        "phase": [phases.phase(t) for t in t_ns],
    }
    for name, values in columns.items():
        table[name] = [None] * -first + values + [None] * (end - len(values))
    for name, track in recording.tracks.items():
        table[name] = _last_in_row(track, phases.start_ns, first, end)
    return table


def write_series(recording: Recording, path: Path) -> None:
    """Write the series of a trial as Parquet, atomically."""
    integers = ("t_ns", "rss_bytes", *_PROGRESS_COLUMNS, "instances", "comparisons")
    types = {name: pa.int64() for name in integers} | {"timed": pa.bool_(), "phase": pa.string()}
    arrays = {
        name: array_with_nulls(values, types.get(name, pa.float64()))
        for name, values in grid_table(recording).items()
    }
    write_table(pa.table(arrays), path)


def write_table(table: "pa.Table", path: Path) -> None:
    """Write a table as Parquet, atomically, in a folder that may be missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    pq.write_table(table, partial, write_page_checksum=True)
    partial.replace(path)


_LATENCIES = ("latency_p50_ns", "latency_p99_ns", "latency_max_ns")
_PROGRESS_COLUMNS = ("emitted", "consumed", "outputs", "backlog", *_LATENCIES)


def _engine_columns(progress: Progress | None, elasticity: Elasticity | None) -> Table:
    """Return the engine's counts by column, from the start of the timed part; empty without counts."""
    columns: Table = {name: [] for name in _PROGRESS_COLUMNS}
    if progress is not None:
        columns |= {
            name: getattr(progress, name).tolist() for name in ("emitted", "consumed", "outputs")
        }
        columns["backlog"] = (np.cumsum(progress.emitted) - np.cumsum(progress.consumed)).tolist()
        for name in _LATENCIES:
            columns[name] = [ns if ns >= 0 else None for ns in getattr(progress, name).tolist()]
    if elasticity is not None:
        columns["instances"] = elasticity.instances.tolist()
        columns["load_cov"] = [
            c if math.isfinite(c) else None for c in elasticity.load_cov.tolist()
        ]
        if elasticity.comparisons is not None:
            columns["comparisons"] = elasticity.comparisons.tolist()
    return columns


def _last_in_row(track: Track, start_ns: int, first: int, end: int) -> list[Any]:
    column: list[Any] = [None] * (end - first)
    for time_ns, value in zip(track.times_ns, track.values, strict=True):
        row = (time_ns - start_ns) // STEP_NS
        if not math.isnan(value) and first <= row < end:
            column[row - first] = value
    return column
