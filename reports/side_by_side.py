"""Compares the cells of several runs with the first run, and lists the differences between the runs.

Ratios and intervals are those of `lab compare` with the first run as A and another run as B. A run that cannot
be compared fairly has values but no ratios.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from streamlab.json_value import JsonValue
from streamlab.reports.numbers import (
    LEAST_RATIO,
    UNCLEAR,
    Quantity,
    digits,
    duration,
    joules,
    latency,
    memory,
    memory_unit,
    rate,
)
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
from streamlab.results.differences import by_cell, describe_differences
from streamlab.results.schema import TrialRow
from streamlab.results.store import Run

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of the runs; a history can show more runs."""

_IN_B = re.compile(r" in B(?=$| \()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A run's value of a cell and metric.

    Attributes:
        median: median over fresh processes; None without one.
        n: number of processes.
        no_median: reason for a missing median, `not run` or a status; else empty.
        ratio: ratio to the first run; None without one.
        no_ratio: reason for a missing ratio although both runs have a value; else empty.
    """

    median: Quantity | None
    n: int
    no_median: str
    ratio: Ratio | None
    no_ratio: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A cell with a value for each run."""

    cell: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A metric with a line for each cell that has a value in any run."""

    metric: Metric
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Several runs side by side.

    Attributes:
        tables: a table for each metric.
        unlike: for each run after the first, the differences that forbid a comparison; mostly empty.
    """

    tables: tuple[Table, ...]
    unlike: tuple[tuple[str, ...], ...]


def side_by_side(runs: Sequence[Run], *, seed: int) -> SideBySide:
    """Compare two or more runs with the first of them.

    With the same `seed` as `lab compare`, the intervals are the same as its intervals.

    Raises:
        IncomparableError: a run has no cell in common with the first.
    """
    comparisons = [
        compare(runs[0], run, np.random.default_rng(seed), force=True) for run in runs[1:]
    ]
    trials = [by_cell(run) for run in runs]
    cells = list(dict.fromkeys(cell for rows in trials for cell in rows))
    tables = [
        Table(metric=metric, lines=lines)
        for metric in METRICS.values()
        if (lines := _make_lines(metric, cells, trials, comparisons))
    ]
    return SideBySide(
        tables=tuple(tables),
        unlike=tuple(
            tuple(
                _IN_B.sub(f" in {letter}", text)
                for text in describe_differences(comparison.differences)
            )
            for letter, comparison in zip(LETTERS[1:], comparisons, strict=False)
        ),
    )


def write_value(metric: str, value: float) -> Quantity:
    """Format a value of a metric of `streamlab.results.compare` with its unit."""
    if metric in ("throughput", SUSTAINABLE):
        return rate(value)
    if metric in ("p50", "p99"):
        return latency(value)
    if metric == "rss":
        return memory(value)
    return duration(value * 1e9) if metric == "cpu" else joules(value)


def axis_of(metric: str, most: float) -> tuple[float, Callable[[float], Quantity]]:
    """Return the unit for round ticks on an axis up to `most`, and the function that formats a tick."""
    if metric != "rss":
        return 1.0, partial(write_value, metric)
    return memory_unit(most), partial(memory, unit=memory_unit(most))


def write_ratio(ratio: Ratio) -> tuple[str, str]:
    """Format a ratio and its interval; a missing interval is empty.

    UNCLEAR marks a ratio that shows no difference.
    """
    inverted = ratio.ratio < LEAST_RATIO
    mark = "" if ratio.is_clear else f"{UNCLEAR} "
    interval = ""
    if ratio.low is not None and ratio.high is not None:
        ends = (1 / ratio.high, 1 / ratio.low) if inverted else (ratio.low, ratio.high)
        interval = " - ".join(digits(end) if inverted else f"{end:.3f}" for end in ends)
    return mark + write_times(ratio.metric, ratio.ratio), interval


def write_times(metric: str, ratio: float) -> str:
    """Format a ratio of a metric as `0.909`; below LEAST_RATIO as `540 x slower`, for costs as `540 x less`."""
    if ratio >= LEAST_RATIO:
        return f"{ratio:.3f}"
    word = "slower" if METRICS[metric].higher_is_better else "less"
    return f"{digits(1 / ratio)} \N{MULTIPLICATION SIGN} {word}"


def _make_lines(
    metric: Metric,
    cells: Sequence[str],
    trials: Sequence[Mapping[str, Sequence[TrialRow]]],
    comparisons: Sequence[Comparison],
) -> tuple[Line, ...]:
    lines = []
    for cell in cells:
        values = [_make_value(metric, cell, trials[0].get(cell), None)]
        values += [
            _make_value(metric, cell, rows.get(cell), comparison)
            for rows, comparison in zip(trials[1:], comparisons, strict=True)
        ]
        if any(value.median for value in values):
            lines.append(Line(cell=cell, values=tuple(values)))
    return tuple(lines)


def _make_value(
    metric: Metric, cell: str, rows: Sequence[TrialRow] | None, comparison: Comparison | None
) -> Value:
    status = first_failure(rows) if rows else None
    values = _read_values(metric, rows) if rows and status is None else []
    no_median = "not run" if rows is None else status or ""
    ratio, reason = _find_ratio(metric, cell, comparison) if comparison and values else (None, "")
    return Value(
        median=write_value(metric.name, median(values)) if values else None,
        n=len(values),
        no_median="" if values else no_median,
        ratio=ratio,
        no_ratio=reason,
    )


def _read_values(metric: Metric, rows: Sequence[TrialRow]) -> list[float]:
    if metric.name != SUSTAINABLE:
        return values_of(metric, rows)
    bracket = sustainable(rows)
    return [bracket[0]] if bracket else []


def _find_ratio(metric: Metric, cell: str, comparison: Comparison) -> tuple[Ratio | None, str]:
    """Return the ratio of a cell, or the reason why it has none."""
    unlike = [item for item in comparison.differences if item.cell in ("", cell)]
    if unlike:
        return None, ", ".join(dict.fromkeys(item.field for item in unlike))
    for ratio in comparison.ratios:
        if (ratio.cell, ratio.metric) == (cell, metric.name):
            return ratio, ""
    return None, ""


def differing_facts(facts: Sequence[Mapping[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the facts that differ between runs, with one text per run."""
    names = dict.fromkeys(name for run in facts for name in run)
    rows = [(name, tuple(run.get(name, "") for run in facts)) for name in names]
    return [(name, texts) for name, texts in rows if len(set(texts)) > 1]


def recorded_facts(run: Run) -> dict[str, JsonValue]:
    """Return the parts of run.json that describe machine, software, settings and code."""
    parts = ("lab_version", "vcs", "host", "software", "settings", "matrix_text", "code")
    return {name: run.meta.recorded[name] for name in parts if name in run.meta.recorded}
