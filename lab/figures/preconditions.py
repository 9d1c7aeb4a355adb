"""Defines preconditions of claims: phenomena that must occur in a run for a claim to be judged.

A claim on reconfigurations needs reconfigurations, and a claim on latency needs a sustained load.
Each claim lists its needs as data. `shortfalls` evaluates the needs for all figures. A claim with
an unmet need is not judged, and counts neither as met nor as missed.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from streamlab.lab.figures.measurements import Series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.timeline import ElasticTimeline
from streamlab.results.query import by_cell
from streamlab.results.schema import UNSUSTAINED, VERIFIED, TrialRow
from streamlab.results.store import Run

Trial = TypeVar("Trial")
MEDIAN_OUTPUTS = 20
"""Fewest outputs for a median: ten on either side, as for other percentiles
(`streamlab.lab.measure.latency`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A precondition of a claim.

    Attributes:
        quantity: the counted events, in words.
        count: number of these events in the run; None if not recorded.
        least: the number that the claim needs.
    """

    quantity: str
    count: float | None
    least: float = 1

    @property
    def shortfall(self) -> str | None:
        """The unmet need in words; None if met."""
        if self.count is None:
            return f"{self.quantity}: not recorded"
        if self.count >= self.least:
            return None
        return f"{self.quantity}: {self.count:,g}, at least {self.least:,g} needed"


def shortfalls(needs: Iterable[Need]) -> str | None:
    """Return the unmet needs in words; None if all are met."""
    lacks = [lack for need in needs if (lack := need.shortfall) is not None]
    return "; ".join(dict.fromkeys(lacks)) or None


def trials(run: Run, *parts: str, workers: Iterable[int] | None = None) -> list[TrialRow]:
    """Return the verified trials of the cells whose id contains all parts.

    A part is, for example, `workload@label/`, `/engine/variant/` or an option's label. `workers` has the
    numbers of workers to include; None: all.
    """
    included = None if workers is None else set(workers)
    return [
        row
        for cell in by_cell(run.rows)
        if cell.status in VERIFIED
        and all(part in cell.cell for part in parts)
        and (included is None or cell.workers in included)
        for row in cell.rows
    ]


def outputs(rows: Sequence[TrialRow], least: int = 1) -> Need:
    """Return the need for outputs: an empty answer shows neither work nor latency."""
    return Need(
        quantity="outputs of every trial",
        count=min((row.outputs or 0 for row in rows), default=0),
        least=least,
    )


def counted_synchronizations(rows: Sequence[TrialRow]) -> Need:
    """Return the need for synchronizations, which the engine counts in every trial."""
    counts = [json.loads(row.counters or "{}").get("synchronizations") for row in rows]
    present = [float(count) for count in counts if count is not None]
    count = min(present) if present and len(present) == len(counts) else None
    return Need(quantity="synchronizations of every trial", count=count)


def sustained_loads(rows: Sequence[TrialRow]) -> Need:
    """Return the need for sustained loads: under other loads, latency grows with the length of the load."""
    return every("trials that sustained their load", rows, lambda row: row.status != UNSUSTAINED)


def latencies(rows: Sequence[TrialRow]) -> tuple[Need, Need]:
    """Return the preconditions of a claim on median latency under load."""
    return sustained_loads(rows), outputs(rows, MEDIAN_OUTPUTS)


def several_workers(options: Options, degrees: Iterable[int] | None = None) -> Need:
    """Return the need for two or more instances, workers or injectors with a core each."""
    instances = options.instances if degrees is None else degrees
    return Need(
        quantity="workers with a core each",
        count=max((n for n in instances if n <= options.cores), default=0),
        least=2,
    )


def two_degrees(options: Options, series: Series, degrees: Iterable[int] | None = None) -> Need:
    """Return the need of a claim on growth: verified numbers at two numbers of workers."""
    within = options.within if degrees is None else [n for n in degrees if n <= options.cores]
    return sweep_points(
        f"numbers of workers within the {options.cores} cores that have a verified number",
        len(series.workers(within)),
    )


def sweep_points(quantity: str, count: int, least: int = 2) -> Need:
    """Return the need of a claim on a sweep: at least `least` points."""
    return Need(quantity=quantity, count=count, least=least)


def every(quantity: str, trials: Sequence[Trial], holds: Callable[[Trial], bool]) -> Need:
    """Return the need for at least one trial, and for a condition to hold in every trial."""
    return Need(quantity=quantity, count=sum(map(holds, trials)), least=max(1, len(trials)))


def cores(options: Options, least: int) -> Need:
    """Return the need for at least `least` cores."""
    return Need(quantity="cores", count=options.cores, least=least)


def reconfigurations(trials: Sequence[ElasticTimeline]) -> Need:
    """Return the need for reconfigurations that changed the number of instances."""
    return Need(
        quantity="reconfigurations in every trial",
        count=min((changes(timeline) for timeline in trials), default=0),
    )


def changes(timeline: ElasticTimeline) -> int:
    """Return the number of changes of the number of instances."""
    return sum(change.before != change.after for change in timeline.changes)
