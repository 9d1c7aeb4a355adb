"""States what must have happened in a run for a claim to be judged.

A claim on reconfigurations says nothing where nothing was reconfigured, and a claim on latency says
nothing where the load was not sustained. Each claim lists its needs as data. `shortfalls` evaluates
them for all figures: a claim with an unmet need is not judged, and counts neither way.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamlab.lab.figures.measurements import Series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.timeline import ElasticTimeline
from streamlab.results.query import by_cell
from streamlab.results.schema import UNSUSTAINED, VERIFIED
from streamlab.results.store import Row, Run

MEDIAN_OUTPUTS = 20
"""Fewest outputs for a median: ten on either side, as for every other percentile
(`streamlab.lab.measure.latency`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that must have happened in a run for a claim to be judged.

    Attributes:
        what: the phenomenon that is counted.
        count: how often it happened in the run; None: the run does not record it.
        least: how often a claim needs it.
    """

    what: str
    count: float | None
    least: float = 1

    @property
    def shortfall(self) -> str | None:
        """What did not happen, in words; None where it did."""
        if self.count is None:
            return f"{self.what}: not recorded"
        if self.count >= self.least:
            return None
        return f"{self.what}: {self.count:,g}, at least {self.least:,g} needed"


def shortfalls(needs: Iterable[Need]) -> str | None:
    """Return what did not happen, in words; None where everything did."""
    lacks = [lack for need in needs if (lack := need.shortfall) is not None]
    return "; ".join(dict.fromkeys(lacks)) or None


def trials(run: Run, *parts: str, workers: Iterable[int] | None = None) -> list[Row]:
    """Return the verified trials of the cells whose id has all these parts.

    Args:
        run: the run.
        parts: of the id: `workload@label/`, `/engine/variant/`, an option's label.
        workers: numbers of workers that count; None: all.
    """
    counted = None if workers is None else set(workers)
    return [
        row
        for cell in by_cell(run.rows)
        if cell.status in VERIFIED
        and all(part in cell.cell for part in parts)
        and (counted is None or cell.workers in counted)
        for row in cell.rows
    ]


def outputs(rows: Sequence[Row], least: int = 1) -> Need:
    """Return the need for outputs: an empty answer compares nothing, and has no latency."""
    return Need(
        what="outputs of every trial",
        count=min((row["outputs"] or 0 for row in rows), default=0),
        least=least,
    )


def engine_counts(rows: Sequence[Row], counter: str, what: str) -> Need:
    """Return the need for something that the engine counts in every trial."""
    found = [json.loads(row["counters"] or "{}").get(counter) for row in rows]
    known = [float(value) for value in found if value is not None]
    return Need(what=what, count=min(known) if known and len(known) == len(found) else None)


def sustained_loads(rows: Sequence[Row]) -> Need:
    """Return the need for sustained loads: otherwise latency grows with the length of the load."""
    sustained = sum(row["status"] != UNSUSTAINED for row in rows)
    return Need(what="trials that sustained their load", count=sustained, least=max(1, len(rows)))


def latencies(rows: Sequence[Row]) -> tuple[Need, Need]:
    """Return the needs of a median latency under an offered load."""
    return sustained_loads(rows), outputs(rows, MEDIAN_OUTPUTS)


def several_workers(options: Options, degrees: Iterable[int] | None = None) -> Need:
    """Return the need for more than one instance, worker or injector, each with a core."""
    found = options.instances if degrees is None else degrees
    return Need(
        what="workers with a core each",
        count=max((n for n in found if n <= options.cores), default=0),
        least=2,
    )


def two_degrees(options: Options, found: Series, degrees: Iterable[int] | None = None) -> Need:
    """Return the need of a claim on growth: two numbers of workers with verified numbers."""
    within = options.within if degrees is None else [n for n in degrees if n <= options.cores]
    return sweep_points(
        f"numbers of workers within the {options.cores} cores that have a verified number",
        len(found.workers(within)),
    )


def sweep_points(what: str, seen: int, least: int = 2) -> Need:
    """Return the need of a claim on a sweep: that it covers so many points."""
    return Need(what=what, count=seen, least=least)


def cores(options: Options, least: int) -> Need:
    """Return the need for so many cores."""
    return Need(what="cores", count=options.cores, least=least)


def reconfigurations(found: Sequence[ElasticTimeline]) -> Need:
    """Return the need for reconfigurations that changed the number of instances."""
    return Need(
        what="reconfigurations in every trial",
        count=min((changes(timeline) for timeline in found), default=0),
    )


def changes(timeline: ElasticTimeline) -> int:
    """Return how often the number of instances changed."""
    return sum(change.before != change.after for change in timeline.changes)
