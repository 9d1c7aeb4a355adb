"""Sets the cells of several runs side by side, each run against the first, and says what differs.

Ratios and intervals are those of `lab compare`: the first run is A, each other one B. Where runs
differ in what must be equal for a fair comparison, values stand and ratios do not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from streamlab.reports.numbers import Quantity, duration, joules, memory, rate
from streamlab.results.compare import (
    METRICS,
    SUSTAINABLE,
    Comparison,
    Metric,
    Ratio,
    compare,
    first_failure,
    sustainable,
    values_of,
)
from streamlab.results.differences import by_cell, told
from streamlab.results.store import Row, Run

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of the runs; more runs than letters are a history."""

_IN_B = re.compile(r" in B(?=$| \()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What a run has for a cell and metric.

    Attributes:
        median: over fresh processes; None where there is none.
        n: how many processes.
        lacking: why there is no median: `not run`, or a status; or empty.
        ratio: against the first run; None where there is none.
        why_none: why there is no ratio where both runs have a value.
    """

    median: Quantity | None
    n: int
    lacking: str
    ratio: Ratio | None
    why_none: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A cell: a value a run."""

    cell: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A metric: a line a cell. Cells without this metric in every run are left out."""

    metric: Metric
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Several runs.

    Attributes:
        tables: by metric.
        unlike: of each run but the first, what must be equal and is not; mostly empty.
    """

    tables: tuple[Table, ...]
    unlike: tuple[tuple[str, ...], ...]


def side_by_side(runs: Sequence[Run], *, seed: int) -> SideBySide:
    """Compare runs with the first of them.

    Args:
        runs: at least two.
        seed: of the intervals; the same as that of `lab compare` gives the same ones.

    Raises:
        IncomparableError: a run has no cell in common with the first.
    """
    found = [compare(runs[0], run, np.random.default_rng(seed), force=True) for run in runs[1:]]
    trials = [by_cell(run) for run in runs]
    cells = list(dict.fromkeys(cell for one in trials for cell in one))
    tables = [
        Table(metric=metric, lines=lines)
        for metric in METRICS.values()
        if (lines := _lines(metric, cells, trials, found))
    ]
    return SideBySide(
        tables=tuple(tables),
        unlike=tuple(
            tuple(_IN_B.sub(f" in {letter}", text) for text in told(one.differences))
            for letter, one in zip(LETTERS[1:], found, strict=False)
        ),
    )


def write_value(metric: str, value: float) -> Quantity:
    """Write a value of a metric of `streamlab.results.compare` with its unit."""
    if metric in ("throughput", SUSTAINABLE):
        return rate(value)
    if metric in ("p50", "p99"):
        return duration(value)
    if metric == "rss":
        return memory(value)
    return duration(value * 1e9) if metric == "cpu" else joules(value)


def _lines(
    metric: Metric,
    cells: Sequence[str],
    trials: Sequence[Mapping[str, Sequence[Row]]],
    found: Sequence[Comparison],
) -> tuple[Line, ...]:
    lines = []
    for cell in cells:
        values = [_value(metric, cell, trials[0].get(cell), None)]
        values += [
            _value(metric, cell, rows.get(cell), against)
            for rows, against in zip(trials[1:], found, strict=True)
        ]
        if any(value.median for value in values):
            lines.append(Line(cell=cell, values=tuple(values)))
    return tuple(lines)


def _value(
    metric: Metric, cell: str, rows: Sequence[Row] | None, against: Comparison | None
) -> Value:
    status = first_failure(rows) if rows else None
    values = _values(metric, rows) if rows and status is None else []
    lacking = "not run" if rows is None else status or ""
    ratio, why = _ratio(metric, cell, against) if against and values else (None, "")
    return Value(
        median=write_value(metric.name, median(values)) if values else None,
        n=len(values),
        lacking="" if values else lacking,
        ratio=ratio,
        why_none=why,
    )


def _values(metric: Metric, rows: Sequence[Row]) -> list[float]:
    if metric.name != SUSTAINABLE:
        return values_of(metric, rows)
    bracket = sustainable(rows)
    return [bracket[0]] if bracket else []


def _ratio(metric: Metric, cell: str, against: Comparison) -> tuple[Ratio | None, str]:
    """Return the ratio of a cell, or why there is none."""
    unlike = [item for item in against.differences if item.cell in ("", cell)]
    if unlike:
        return None, ", ".join(dict.fromkeys(item.field for item in unlike))
    for ratio in against.ratios:
        if (ratio.cell, ratio.metric) == (cell, metric.name):
            return ratio, ""
    return None, ""


def code_of(run: Run) -> str:
    """Return of which code a run is, and whether the lab planted busy work in it to try a gate."""
    vcs = run.meta["vcs"]
    dirty = " with changes" if vcs.get("dirty_diff_sha256") else ""
    planted = max((row["planted_slowdown"] or 0 for row in run.rows), default=0)
    work = f", {planted:.0%} of planted busy work" if planted else ""
    return f"{(vcs.get('commit') or 'no commit')[:12]}{dirty}{work}"


def what_differs(facts: Sequence[Mapping[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the facts that are not the same in all runs, with the text of each run.

    Args:
        facts: of each run, what is known by name.
    """
    names = dict.fromkeys(name for one in facts for name in one)
    rows = [(name, tuple(one.get(name, "") for one in facts)) for name in names]
    return [(name, texts) for name, texts in rows if len(set(texts)) > 1]


def noted(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of run.json that say on what, with what and of what a run is."""
    parts = (
        "lab_version",
        "started_at",
        "vcs",
        "host",
        "software",
        "settings",
        "matrix_text",
        "code",
    )
    return {name: meta[name] for name in parts if name in meta}
