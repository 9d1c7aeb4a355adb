"""Reads the 100 ms series of a trial for drawing (columns: lab/measure/series.py)."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamlab.results.errors import ResultsError
from streamlab.results.seal import read_sealed
from streamlab.results.table import table_of

STEP_S = 0.1
"""Length of the interval that a row covers."""
MAX_POINTS = 400
"""Maximum number of points in a drawing; for longer trials, a point summarizes several rows."""
FEWEST_ROWS = 3
"""Minimum number of rows for a drawing."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A phase, in seconds after the start of the timed part."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTimeline:
    """A trial over time, from the start of its timed part. Points without a value are None.

    Attributes:
        times_s: middle of each point.
        phases: phases in order.
        rates: events/s emitted and consumed. `rates` and `cores` omit the last row, which is partial.
        backlog: largest backlog within each point.
        latency_ns: largest p50, p99 and max within each point.
        cores: CPU-seconds per second.
        memory_bytes: largest resident memory within each point.
        power_w: power by energy domain.
    """

    times_s: Sequence[float]
    phases: Sequence[Span]
    rates: Mapping[str, Values]
    backlog: Values
    latency_ns: Mapping[str, Values]
    cores: Values
    memory_bytes: Values
    power_w: Mapping[str, Values]


def read_timeline(run_dir: Path, series: str) -> TrialTimeline | None:
    """Read the timeline of a trial; None if the series is too short.

    Raises:
        ResultsError: the file is missing, unreadable, or has changed since the lab wrote it.
    """
    path = run_dir / series
    try:
        table: dict[str, list[Any]] = table_of(read_sealed(run_dir, path)).to_pydict()
    except (OSError, pa.ArrowException) as error:
        raise ResultsError(f"{path} cannot be read: {error}") from error
    first = next((row for row, t_ns in enumerate(table["t_ns"]) if t_ns >= 0), len(table["t_ns"]))
    return timeline(table, first)


def timeline(table: Mapping[str, list[Any]], first: int) -> TrialTimeline | None:
    """Return the timeline of a table's rows from `first` on; None if there are too few rows."""
    rows = len(table["t_ns"])
    if rows - first < FEWEST_ROWS:
        return None
    width = -(-(rows - first) // MAX_POINTS)

    def points(values: Sequence[float | None], pick: Callable[[list[float]], float]) -> Values:
        groups = (values[start : start + width] for start in range(first, rows, width))
        present = ([value for value in group if value is not None] for group in groups)
        return [pick(group) if group else None for group in present]

    def column(name: str) -> list[float | None]:
        return table.get(name) or [None] * rows

    def rate_of(name: str) -> Values:
        # The timed part ends within the last row, so that row's count is not a rate.
        full_rows = [*column(name)[:-1], None]
        return [None if v is None else v / STEP_S for v in points(full_rows, _mean)]

    energies = [match for name in table if (match := re.fullmatch(r"energy_(.+)_j", name))]
    return TrialTimeline(
        times_s=[
            (
                table["t_ns"][start] / 1e9
                + table["t_ns"][min(start + width, rows) - 1] / 1e9
                + STEP_S
            )
            / 2
            for start in range(first, rows, width)
        ],
        phases=_read_phases(table, first),
        rates={name: rate_of(name) for name in ("emitted", "consumed")},
        backlog=points(column("backlog"), max),
        latency_ns={
            name: points(column(f"latency_{name}_ns"), max) for name in ("p50", "p99", "max")
        },
        cores=points([*_per_second(column("cpu_s"))[:-1], None], _mean),
        memory_bytes=points(column("rss_bytes"), max),
        power_w={match[1]: points(_per_second(column(match[0])), _mean) for match in energies},
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _per_second(total: Sequence[float | None]) -> list[float | None]:
    """Return the growth of a total per second, since the last row with a value."""
    growth: list[float | None] = []
    before: tuple[int, float] | None = None
    for row, value in enumerate(total):
        if value is None:
            growth.append(None)
            continue
        increase = None if before is None else (value - before[1]) / ((row - before[0]) * STEP_S)
        growth.append(increase)
        before = (row, value)
    return growth


def _read_phases(table: Mapping[str, list[Any]], first: int) -> list[Span]:
    spans: list[Span] = []
    for t_ns, name in zip(table["t_ns"][first:], table["phase"][first:], strict=True):
        begin_s = t_ns / 1e9
        if spans and spans[-1].name == name:
            begin_s = spans.pop().begin_s
        spans.append(Span(name=name, begin_s=begin_s, end_s=t_ns / 1e9 + STEP_S))
    return spans
