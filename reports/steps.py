"""Follows each cell over the runs of a machine, and finds steps from one run to the next.

Each run is compared with the previous run that has the cell, as `lab gate` compares with a stored run
(`streamlab.results.stats.decision.ONE_STAGE`): by exact one-sided Mann-Whitney tests over fresh processes,
a Benjamini-Hochberg correction over the run's cells, and a floor, up to which an effect is no change.
A step needs both a change by this rule and intervals that do not overlap. So slow drifts and runs with few
processes show no step.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from streamlab.reports.summary import start_time
from streamlab.results.compare import CELL, Metric, first_failure, values_of
from streamlab.results.differences import by_cell
from streamlab.results.errors import ResultsError
from streamlab.results.machines import compare_machines
from streamlab.results.stats.decision import (
    ONE_STAGE,
    Arms,
    GateVerdict,
    decide_once,
    values_needed,
)
from streamlab.results.stats.intervals import median_interval
from streamlab.results.store import Run

Key = tuple[str, str]
"""A cell's id, and a fingerprint that differs if input or settings changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A cell in a run.

    Attributes:
        values: one value a process.
        failure: the status of a cell without a number; None for other cells.
    """

    values: tuple[float, ...]
    failure: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A run's measurement of a cell.

    Attributes:
        run: index of the run.
        median, n: median over fresh processes, and their number.
        low, high: the 95 % order-statistic interval of the median, or with fewer than six processes
            the smallest and largest value.
        is_interval: whether `low` and `high` are an interval.
    """

    run: int
    median: float
    n: int
    low: float
    high: float
    is_interval: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change from one run to the next.

    Attributes:
        before, after: indices of the runs.
        ratio: new median over old.
        better: whether the change is an improvement.
    """

    before: int
    after: int
    ratio: float
    better: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A cell over comparable runs, which have the same fingerprint.

    Attributes:
        cell: the cell's id.
        fingerprint: distinguishes cells with the same id whose input or settings changed.
        points: points of the runs with a verified number, in order of time.
        failed: index and status of each run without a number.
        steps: steps, in order of time.
    """

    cell: str
    fingerprint: str
    points: tuple[Point, ...]
    failed: tuple[tuple[int, str], ...]
    steps: tuple[Step, ...]

    @property
    def runs(self) -> tuple[int, ...]:
        """The indices of the track's runs."""
        return tuple(
            sorted([*(point.run for point in self.points), *(run for run, _ in self.failed)])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All tracks of a metric.

    Attributes:
        tracks: tracks, in the order in which the cells first appear.
        blind: number of comparisons with too few processes for even the clearest step.
        needed: number of processes per cell and run that suffices for the largest number of compared cells.
    """

    tracks: tuple[Track, ...]
    blind: int
    needed: int


def sort_by_time(runs: Sequence[Run]) -> list[Run]:
    """Return runs in the order of their starts."""
    return sorted(runs, key=lambda run: (start_time(run), run.path.name))


def history(runs: Sequence[Run], metric: Metric, *, seed: int) -> History:
    """Return each cell's track over runs of one machine; the runs are in order of time."""
    return follow([measure(run, metric) for run in runs], metric, seed=seed)


def measure(run: Run, metric: Metric) -> dict[Key, Measured]:
    """Return the values of a metric for each cell of a run, without trials of searches.

    `metric` is not the bracket of a search.
    """
    measured = {}
    for cell, rows in by_cell(run).items():
        trials = [row for row in rows if row.purpose in (None, CELL)]
        if trials:
            failure = first_failure(trials)
            values = () if failure else tuple(values_of(metric, trials))
            measured[cell, trials[0].fingerprint or ""] = Measured(values=values, failure=failure)
    return measured


def follow(runs: Sequence[Mapping[Key, Measured]], metric: Metric, *, seed: int) -> History:
    """Return each cell's track over the measured runs of one machine, in order of time.

    `seed` seeds the resampled noise that determines the floor.
    """
    cells: dict[Key, dict[int, Measured]] = {}
    for index, run in enumerate(runs):
        for key, measured in run.items():
            cells.setdefault(key, {})[index] = measured
    values = {
        key: {index: measured.values for index, measured in by_run.items() if measured.values}
        for key, by_run in cells.items()
    }
    steps, blind, max_cells = _find_steps(values, metric, len(runs), seed)
    tracks = [
        Track(
            cell=cell,
            fingerprint=fingerprint,
            points=tuple(
                _make_point(index, numbers) for index, numbers in values[cell, fingerprint].items()
            ),
            failed=tuple(
                (index, measured.failure)
                for index, measured in by_run.items()
                if measured.failure is not None
            ),
            steps=tuple(steps.get((cell, fingerprint), ())),
        )
        for (cell, fingerprint), by_run in cells.items()
    ]
    return History(
        tracks=tuple(track for track in tracks if track.points or track.failed),
        blind=blind,
        needed=values_needed(max(max_cells, 1), ONE_STAGE),
    )


def split_by_machine(runs: Sequence[Run]) -> tuple[list[Run], list[tuple[Run, str]]]:
    """Split runs into runs on the machine of the last run, and other runs, each with a differing field."""
    same, others = [], []
    for run in runs:
        fields = compare_machines(run.meta.host, runs[-1].meta.host).decisive
        if fields:
            first = fields[0]
            others.append((run, f"host.{first.name} is {first.old!r}, not {first.new!r}"))
        else:
            same.append(run)
    return same, others


def refuse_other_machines(runs: Sequence[Run]) -> None:
    """Check that all runs are from one machine.

    Raises:
        ResultsError: a run is from another machine; the message names the run and a differing field.
    """
    for run, difference in split_by_machine(runs)[1]:
        raise ResultsError(
            f"{run.path.name} was made on another machine than {runs[-1].path.name}: {difference}; "
            "a history is of one machine, so leave one of them out"
        )


def runs_in_words(indices: Iterable[int]) -> str:
    """Format indices of runs as numbers from 1: `run 4`, or `runs 1 to 3, 5`."""
    spans: list[list[int]] = []
    for index in sorted(indices):
        if spans and index == spans[-1][-1] + 1:
            spans[-1].append(index)
        else:
            spans.append([index])
    words = (f"{s[0] + 1} to {s[-1] + 1}" if len(s) > 1 else f"{s[0] + 1}" for s in spans)
    return f"run{'s' * (sum(map(len, spans)) > 1)} {', '.join(words)}"


def _make_point(index: int, values: Sequence[float]) -> Point:
    low, high, is_interval = _interval_ends(values)
    return Point(
        run=index, median=median(values), n=len(values), low=low, high=high, is_interval=is_interval
    )


def _interval_ends(values: Sequence[float]) -> tuple[float, float, bool]:
    interval = median_interval(values)
    return (interval.low, interval.high, True) if interval else (min(values), max(values), False)


def _find_steps(
    values: Mapping[Key, Mapping[int, Sequence[float]]],
    metric: Metric,
    runs: int,
    seed: int,
) -> tuple[dict[Key, list[Step]], int, int]:
    """Return the steps by cell, the number of blind comparisons, and the largest number of cells in a run."""
    steps: dict[Key, list[Step]] = {}
    blind = max_cells = 0
    rng = np.random.default_rng(seed)
    latest: dict[Key, int] = {}
    for after in range(runs):
        pairs: dict[Key, tuple[int, Arms]] = {}
        for key, by_run in values.items():
            if after in by_run:
                before = latest.get(key)
                latest[key] = after
                if before is not None and (arms := _costs(by_run[before], by_run[after], metric)):
                    pairs[key] = (before, arms)
        if not pairs:
            continue
        max_cells = max(max_cells, len(pairs))
        for decision in decide_once(
            {key: arms for key, (_, arms) in pairs.items()}, ONE_STAGE, rng
        ):
            before = pairs[decision.key][0]
            old, new = values[decision.key][before], values[decision.key][after]
            blind += decision.verdict is GateVerdict.TOO_FEW
            changed = decision.verdict in (GateVerdict.REGRESSION, GateVerdict.IMPROVED)
            if changed and _are_apart(_interval_ends(old), _interval_ends(new)):
                step = Step(
                    before=before,
                    after=after,
                    ratio=median(new) / median(old),
                    better=decision.verdict is GateVerdict.IMPROVED,
                )
                steps.setdefault(decision.key, []).append(step)
    return steps, blind, max_cells


def _costs(old: Sequence[float], new: Sequence[float], metric: Metric) -> Arms | None:
    """Return both arms as costs, where larger is worse; None if a value is not above 0."""
    if min(*old, *new) <= 0:
        return None
    if metric.higher_is_better:
        return Arms(old=tuple(1 / value for value in old), new=tuple(1 / value for value in new))
    return Arms(old=tuple(old), new=tuple(new))


def _are_apart(old: tuple[float, float, bool], new: tuple[float, float, bool]) -> bool:
    return old[1] < new[0] or new[1] < old[0]
