"""Builds the headline table of a run as plain data, for the page and the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from streamlab.reports.baseline import Baseline, baselines, missing_ratio_reason, too_short
from streamlab.reports.conditions import Conditions
from streamlab.reports.numbers import Quantity, count, duration, latency, memory, rate, ratio
from streamlab.reports.summary import Cell, summarise
from streamlab.results.schema import TrialRow

LEAST_UNTIMED = 0.1
"""Share of the timed part above which the table shows work outside the clock."""

Group = tuple[str, str]
"""A workload, and its input's label (or empty); rows must share both to be comparable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlineRow:
    """A cell of the matrix, formatted; missing quantities are None.

    Attributes:
        unit: unit of hand-over with its size; like `origin` and `also_timed` empty if the engine
            declares no conditions.
        origin: place of the input when the clock started.
        also_timed: work besides the program that the clock covers.
        ratio: median throughput over that of the baseline of its class: cells of the same workload
            and input under equal conditions.
        base: letter of that class; empty without one.
        no_ratio: why a cell with a rate has no ratio: `alone` in its class, `undeclared` or `short`.
        is_baseline: whether this cell is that baseline.
        checked_by: `oracle` or `reference engine` (`streamlab.reports.summary`).
        status: for example `ok`, or `ok 2 of 3, crash 1` when repetitions disagree.
        reason: why there is no number, or why it is doubtful; may be long.
        untimed: the engine's work outside the clock, if above a tenth of the timed part.
    """

    cell: str
    workload: str
    label: str
    dataset: str
    engine: str
    variant: str
    tag: str
    workers: int
    batch: int | None
    unit: str
    origin: str
    also_timed: str
    oversubscribed: bool
    events: Quantity | None
    throughput: Quantity | None
    low: Quantity | None
    high: Quantity | None
    n: int
    ratio: Quantity | None
    base: str
    no_ratio: str
    is_baseline: bool
    p50: Quantity | None
    p99: Quantity | None
    latency_definition: str
    cpu_per_million: Quantity | None
    peak_rss: Quantity | None
    checked_by: str
    status: str
    reason: str
    untimed: Quantity | None


def headline_table(rows: Iterable[TrialRow]) -> list[HeadlineRow]:
    """Return one row per cell, grouped by workload and input.

    Args:
        rows: trials, from `streamlab.results.store.read_run(run_dir).rows`.
    """
    return rows_of(summarise(rows))


def rows_of(cells: Sequence[Cell]) -> list[HeadlineRow]:
    """Return one row per cell, in the order of `in_groups`."""
    rows: list[HeadlineRow] = []
    for _, members in in_groups(cells):
        bases = baselines(members)
        rows.extend(_row(cell, bases) for cell in members)
    return rows


def in_groups(cells: Sequence[Cell]) -> list[tuple[Group, list[Cell]]]:
    """Sort cells by engine, variant, batch, workers and rate within workload and input.

    Workloads and engines keep the order in which they were first run, which is the matrix's.
    """
    groups = list(dict.fromkeys(map(group_of, cells)))
    engines = list(dict.fromkeys((cell.engine, cell.variant) for cell in cells))

    def place(c: Cell) -> tuple[object, ...]:
        engine = engines.index((c.engine, c.variant))
        offered = (c.load.requested_eps or 0.0) if c.load else 0.0
        return (groups.index(group_of(c)), engine, c.batch or 0, c.workers, offered, c.name)

    ordered = sorted(cells, key=place)
    return [(group, list(members)) for group, members in groupby(ordered, key=group_of)]


def title(group: Group) -> str:
    """Return a group's title."""
    workload, input_label = group
    return f"{workload} ({input_label})" if input_label else workload


def group_of(cell: Cell) -> Group:
    """Return the workload and input of a cell."""
    return (cell.workload, cell.label)


def status_text(statuses: Mapping[str, int]) -> str:
    """Format the statuses of a cell's trials, for example `ok 2 of 3, crash 1`."""
    if len(statuses) == 1:
        return next(iter(statuses))
    total = sum(statuses.values())
    first = [f"ok {statuses['ok']} of {total}"] if "ok" in statuses else []
    return ", ".join(first + [f"{s} {n}" for s, n in sorted(statuses.items()) if s != "ok"])


def _row(cell: Cell, bases: Mapping[Conditions, Baseline]) -> HeadlineRow:
    eps, conditions = cell.throughput_eps, cell.conditions
    compared = conditions is not None and eps is not None and not too_short(cell)
    base = bases.get(conditions) if conditions is not None and compared else None
    p50, p99, cpu, rss = (
        cell.latency_p50_ns,
        cell.latency_p99_ns,
        cell.cpu_s_per_million,
        cell.peak_rss_bytes,
    )
    return HeadlineRow(
        cell=cell.name,
        workload=cell.workload,
        label=cell.label,
        dataset=cell.dataset,
        engine=cell.engine,
        variant=cell.variant,
        tag=cell.tag,
        workers=cell.workers,
        batch=cell.batch,
        unit=conditions.unit if conditions else "",
        origin=conditions.origin if conditions else "",
        also_timed=conditions.also_timed if conditions else "",
        oversubscribed=cell.oversubscribed,
        events=None if cell.events is None else count(cell.events),
        throughput=rate(eps.median) if eps else None,
        low=rate(eps.low) if eps else None,
        high=rate(eps.high) if eps else None,
        n=eps.n if eps else 0,
        ratio=ratio(eps.median / base.eps) if eps and base and base.eps > 0 else None,
        base=base.letter if base else "",
        no_ratio=missing_ratio_reason(cell, bases),
        is_baseline=base is not None and base.cell == cell.name,
        p50=latency(p50.median) if p50 else None,
        p99=latency(p99.median) if p99 else None,
        latency_definition=cell.latency_definition,
        cpu_per_million=duration(cpu.median * 1e9) if cpu else None,
        peak_rss=memory(rss.median) if rss else None,
        checked_by=cell.checked_by,
        status=status_text(cell.statuses),
        reason="\n".join(cell.reasons or cell.notes),
        untimed=_untimed(cell),
    )


def _untimed(cell: Cell) -> Quantity | None:
    if cell.untimed_s is None or cell.duration_s is None:
        return None
    weighs = cell.untimed_s.median > LEAST_UNTIMED * cell.duration_s.median
    return duration(cell.untimed_s.median * 1e9) if weighs else None
