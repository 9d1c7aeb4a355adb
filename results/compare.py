"""Compares two runs: matches their cells, checks their answers and computes ratios of medians.

Cells match by fingerprint, which covers all conditions that must be equal, except the source revision and
the machine; `streamlab.results.machines` compares machines.
Only verified trials and imported trials have numbers; the output marks imported trials.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from streamlab.results.differences import (
    Difference,
    by_cell,
    cell_fingerprints,
    describe_differences,
    differences,
)
from streamlab.results.errors import ResultsError
from streamlab.results.machines import Field, compare_machines
from streamlab.results.query import group_by
from streamlab.results.schema import MEASURED, TrialRow
from streamlab.results.stats.intervals import ratio_interval
from streamlab.results.stats.mann_whitney import mann_whitney, smallest_p
from streamlab.results.store import Run

LEVEL = 0.05
"""Level of the two-sided test, with p-values adjusted over the cells of a metric (Benjamini-Hochberg)."""

CELL = "cell"
"""Purpose of an ordinary trial; trials of searches have other purposes."""

CONFIRM = "confirm"


class IncomparableError(ResultsError):
    """Two runs are not comparable; the message names the fields that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric to compare.

    `value` returns a trial's value, or None if it has none; `about` describes the metric and has its unit.
    """

    name: str
    about: str
    higher_is_better: bool
    value: Callable[[TrialRow], float | None]


def _cpu_per_million(row: TrialRow) -> float | None:
    return row.cpu_s / row.events * 1e6 if row.cpu_s and row.events else None


def _column(name: str) -> Callable[[TrialRow], float | None]:
    return lambda row: float(getattr(row, name)) if getattr(row, name) else None


def _catch_up_rate(row: TrialRow) -> float | None:
    return None if row.load else _column("throughput_eps")(row)


SUSTAINABLE = "r_pass"
HIGHER_IS_BETTER = ("throughput", SUSTAINABLE)

METRICS: Mapping[str, Metric] = {
    name: Metric(name=name, about=about, higher_is_better=name in HIGHER_IS_BETTER, value=value)
    for name, about, value in (
        ("throughput", "catch-up rate, events/s", _catch_up_rate),
        ("cpu", "CPU-seconds per 1 M events", _cpu_per_million),
        ("p50", "median latency, ns", _column("latency_p50_ns")),
        ("p99", "99th percentile of latency, ns", _column("latency_p99_ns")),
        (SUSTAINABLE, "highest rate that a search confirmed, events/s", _column("offered_eps")),
        ("energy", "gross J per 1,000 events", _column("energy_j_per_1000")),
        ("rss", "peak memory, bytes", _column("peak_rss_bytes")),
    )
}
"""Metrics by name, in display order."""

BETTER, WORSE, SAME, TOO_FEW, BRACKET = (
    "better",
    "worse",
    "no difference shown",
    "too few",
    "bracket",
)
BROKEN, FIXED, NO_NUMBER = "broken", "fixed", "no number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The ratio of a cell's medians of one metric: new (B) over old (A).

    Attributes:
        old, new: medians over fresh processes.
        n_old, n_new: number of processes in each run.
        ratio: new / old.
        low, high: ends of the ratio's 95 % bootstrap interval; None with fewer than three values. For
            `r_pass` (sustainable rates), the smallest and largest ratio that both brackets allow.
        p: two-sided p-value, adjusted over the cells of the metric; None for `r_pass`.
        word: the verdict; `better` and `worse` require an interval without 1.
    """

    cell: str
    metric: str
    old: float
    new: float
    n_old: int
    n_new: int
    ratio: float
    low: float | None
    high: float | None
    p: float | None
    word: str

    @property
    def is_clear(self) -> bool:
        """Whether the verdict is better or worse."""
        return self.word in (BETTER, WORSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A cell whose answer is unverified in at least one run; `old` and `new` are the statuses."""

    cell: str
    word: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two runs.

    Attributes:
        differences: differences that `force` ignored; with any, the comparison is not fair.
        unlike: differing fields that excluded cells from the comparison.
        notes: differing fields of the machines that do not decide speed.
        answers: cells without a verified answer in one or both runs; they have no ratios.
        ratios: ratios, ordered by metric and then cell.
        only_old, only_new: cells that only one run has.
    """

    differences: tuple[Difference, ...]
    unlike: tuple[Difference, ...]
    notes: tuple[Field, ...]
    answers: tuple[Answer, ...]
    ratios: tuple[Ratio, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]


def compare(
    old: Run,
    new: Run,
    rng: np.random.Generator,
    *,
    metrics: Sequence[Metric] = tuple(METRICS.values()),
    force: bool = False,
) -> Comparison:
    """Compare two runs.

    `rng` draws for the intervals. With `force`, machines and cells may differ, and cells match by id.

    Raises:
        IncomparableError: the runs have no cell in common; or, without `force`, the machines differ
            in a field that decides speed, or all cells of equal id differ.
    """
    old_cells, new_cells = by_cell(old), by_cell(new)
    unequal = differences(old, new)
    unlike = set() if force else {item.cell for item in unequal}
    pairs = [(a, b) for a, b in _match_cells(old, new) if a not in unlike]
    if unlike and ("" in unlike or not pairs):
        listed = "\n  ".join(describe_differences(unequal))
        raise IncomparableError(
            f"{old.path.name} (A) and {new.path.name} (B) may not be compared:\n  {listed}\n"
            "--force compares them anyway and marks the output"
        )
    if not pairs:
        raise IncomparableError(
            f"{old.path.name} (A) and {new.path.name} (B) have no cell in common: A has "
            f"{', '.join(old_cells) or 'none'}; B has {', '.join(new_cells) or 'none'}"
        )
    answers = tuple(
        answer
        for a, b in pairs
        if (answer := _compare_answers(a, old_cells[a], new_cells[b])) is not None
    )
    unverified = {answer.cell for answer in answers}
    sound = [(a, old_cells[a], new_cells[b]) for a, b in pairs if a not in unverified]
    return Comparison(
        differences=tuple(unequal) if force else (),
        unlike=() if force else tuple(unequal),
        notes=compare_machines(old.meta.host, new.meta.host).notes,
        answers=answers,
        ratios=tuple(ratio for metric in metrics for ratio in _metric_ratios(metric, sound, rng)),
        only_old=tuple(cell for cell in old_cells if cell not in {*unlike, *(a for a, _ in pairs)}),
        only_new=tuple(cell for cell in new_cells if cell not in {*unlike, *(b for _, b in pairs)}),
    )


def sustainable(rows: Sequence[TrialRow]) -> tuple[float, float | None] | None:
    """Return the bracket of a search: its highest confirmed rate, and the lowest failed rate above.

    The second rate is None if no higher rate failed. The result is None without a confirmed rate.
    """
    passed, failed = [], []
    offered = (row for row in rows if row.probe is not None and row.offered_eps is not None)
    for votes in group_by(offered, lambda row: row.probe).values():
        rate = median(row.offered_eps or 0.0 for row in votes)
        holds = sum(bool(row.sustained) for row in votes) * 2 > len(votes)
        if not holds:
            failed.append(rate)
        elif votes[0].purpose == CONFIRM:
            passed.append(rate)
    if not passed:
        return None
    best = max(passed)
    return best, min((rate for rate in failed if rate > best), default=None)


def _match_cells(old: Run, new: Run) -> list[tuple[str, str]]:
    """Match the cells of both runs: by fingerprint, else by id.

    If several cells have the same fingerprint, the cell with the same id matches.
    """
    old_prints, new_prints = cell_fingerprints(old), cell_fingerprints(new)
    pairs = {
        cell: cell for cell in old_prints if old_prints[cell] & new_prints.get(cell, frozenset())
    }
    unmatched = {
        digest: cell for cell in new_prints if cell not in pairs for digest in new_prints[cell]
    }
    for cell, digests in old_prints.items():
        match = next((unmatched[digest] for digest in digests if digest in unmatched), None)
        if cell not in pairs and match is not None:
            pairs[cell] = match
            unmatched = {digest: other for digest, other in unmatched.items() if other != match}
    matched_new = set(pairs.values())
    for cell in old_prints:
        if cell not in pairs and cell in new_prints and cell not in matched_new:
            pairs[cell] = cell
    return [(cell, pairs[cell]) for cell in old_prints if cell in pairs]


def _compare_answers(cell: str, old: Sequence[TrialRow], new: Sequence[TrialRow]) -> Answer | None:
    before, after = first_failure(old), first_failure(new)
    if before is None and after is None:
        return None
    word = BROKEN if before is None else FIXED if after is None else NO_NUMBER
    return Answer(cell=cell, word=word, old=before or "verified", new=after or "verified")


def first_failure(rows: Sequence[TrialRow]) -> str | None:
    """Return the status of the first trial without a right answer; ignores invalid probes of a search."""
    for row in rows:
        if row.status not in MEASURED and not (row.probe and row.status == "invalid"):
            return str(row.status)
    return None


def _metric_ratios(
    metric: Metric,
    cells: Sequence[tuple[str, Sequence[TrialRow], Sequence[TrialRow]]],
    rng: np.random.Generator,
) -> list[Ratio]:
    if metric.name == SUSTAINABLE:
        return [ratio for cell, a, b in cells if (ratio := _bracket_ratio(cell, a, b)) is not None]
    from scipy.stats import false_discovery_control  # heavy

    values = {
        cell: (a, b)
        for cell, old, new in cells
        if (a := values_of(metric, old)) and (b := values_of(metric, new))
    }
    p = [mann_whitney(a, b, "two-sided") for a, b in values.values()]
    return [
        _median_ratio(metric, cell, a, b, float(q), len(values), rng)
        for (cell, (a, b)), q in zip(values.items(), false_discovery_control(p), strict=True)
    ]


def values_of(metric: Metric, rows: Sequence[TrialRow]) -> list[float]:
    """Return the values of a metric, one per process, from the trials of a cell that have numbers."""
    measured = [row for row in rows if row.purpose in (None, CELL) and row.status in MEASURED]
    return [value for row in measured if (value := metric.value(row)) is not None]


def _median_ratio(
    metric: Metric,
    cell: str,
    old: Sequence[float],
    new: Sequence[float],
    p: float,
    tests: int,
    rng: np.random.Generator,
) -> Ratio:
    before, after = median(old), median(new)
    interval = ratio_interval(old, new, rng)
    ratio = after / before
    if 2 * smallest_p(len(old), len(new)) * tests > LEVEL:
        word = TOO_FEW
    elif p > LEVEL or interval is None or interval.low <= 1 <= interval.high:
        word = SAME
    else:
        word = BETTER if (ratio > 1) == metric.higher_is_better else WORSE
    return Ratio(
        cell=cell,
        metric=metric.name,
        old=before,
        new=after,
        n_old=len(old),
        n_new=len(new),
        ratio=ratio,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        p=p,
        word=word,
    )


def _bracket_ratio(cell: str, old: Sequence[TrialRow], new: Sequence[TrialRow]) -> Ratio | None:
    """Return the ratio of two searches' rates; overlapping brackets show no difference."""
    before, after = sustainable(old), sustainable(new)
    if before is None or after is None:
        return None
    low = high = None
    word = BRACKET
    if before[1] is not None and after[1] is not None:
        low, high = after[0] / before[1], after[1] / before[0]
        word = BETTER if low > 1 else WORSE if high < 1 else SAME
    return Ratio(
        cell=cell,
        metric=SUSTAINABLE,
        old=before[0],
        new=after[0],
        n_old=1,
        n_new=1,
        ratio=after[0] / before[0],
        low=low,
        high=high,
        p=None,
        word=word,
    )
