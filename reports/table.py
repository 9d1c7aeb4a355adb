"""Builds the headline table of a run as plain data, for the page and for the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from reports.numbers import Quantity, count, duration, memory, rate, ratio
from reports.summary import Cell, summarise
from results.store import Row

Group = tuple[str, str]
"""What may be compared: a workload, and the label of its input (empty where it has only one)."""

BASELINE = ("spark", "streaming")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlineRow:
    """One cell of the matrix as it is shown. A quantity is None where the cell has none.

    Attributes:
        ratio: median throughput over that of the baseline of the same workload and input.
        is_baseline: whether this cell is that baseline.
        status: for example `ok`, or `ok 2 of 3, crash 1` when repetitions disagree.
        reason: why there is no number, or what is doubtful about it; may be long.
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
    oversubscribed: bool
    events: Quantity | None
    throughput: Quantity | None
    low: Quantity | None
    high: Quantity | None
    n: int
    ratio: Quantity | None
    is_baseline: bool
    p50: Quantity | None
    p99: Quantity | None
    latency_definition: str
    cpu_per_million: Quantity | None
    peak_rss: Quantity | None
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The cell that the ratios of a group refer to.

    Attributes:
        cell: its id.
        why: how it was chosen, as a phrase.
    """

    cell: str
    label: str
    eps: float
    why: str


def headline_table(rows: Iterable[Row]) -> list[HeadlineRow]:
    """Return one row per cell, grouped by workload and input.

    Args:
        rows: trials, as `results.store.read_run(run_dir).rows` has them.
    """
    return rows_of(summarise(rows))


def rows_of(cells: Sequence[Cell]) -> list[HeadlineRow]:
    """Return one row per cell, in the order of `in_groups`."""
    rows: list[HeadlineRow] = []
    for _, members in in_groups(cells):
        base = baseline(members)
        rows.extend(_row(cell, base) for cell in members)
    return rows


def in_groups(cells: Sequence[Cell]) -> list[tuple[Group, list[Cell]]]:
    """Sort cells by engine, variant, batch, workers and rate within workload and input.

    Workloads and engines keep the order in which they were first run, which is the matrix's.
    """
    groups = list(dict.fromkeys(map(group_of, cells)))
    engines = list(dict.fromkeys((cell.engine, cell.variant) for cell in cells))

    def place(c: Cell) -> tuple[object, ...]:
        engine = engines.index((c.engine, c.variant))
        offered = (c.load.asked_eps or 0.0) if c.load else 0.0
        return (groups.index(group_of(c)), engine, c.batch or 0, c.workers, offered, c.name)

    ordered = sorted(cells, key=place)
    return [(group, list(members)) for group, members in groupby(ordered, key=group_of)]


def title(group: Group) -> str:
    """Return a group's name for people."""
    workload, input_label = group
    return f"{workload} ({input_label})" if input_label else workload


def group_of(cell: Cell) -> Group:
    """Return what a cell may be compared within."""
    return (cell.workload, cell.label)


def baseline(cells: Sequence[Cell]) -> Baseline | None:
    """Choose what ratios refer to: Spark streaming where it has a number, else the slowest.

    Of several cells of Spark streaming the fastest is taken, since a weak baseline proves
    nothing.
    """
    rated = [(c.throughput_eps.median, c) for c in cells if c.throughput_eps is not None]
    if len({cell.name for cell in cells}) < 2 or not rated:
        return None
    spark = [(eps, c) for eps, c in rated if (c.engine, c.variant) == BASELINE]
    if spark:
        eps, cell = max(spark, key=lambda item: item[0])
        why = "its fastest cell" if len(spark) > 1 else "its only cell"
    else:
        eps, cell = min(rated, key=lambda item: item[0])
        asked = any((cell.engine, cell.variant) == BASELINE for cell in cells)
        why = "the slowest cell" + (", since Spark streaming has no number here" if asked else "")
    return Baseline(cell=cell.name, label=label(cell), eps=eps, why=why)


def label(cell: Cell) -> str:
    """Return a cell's engine, variant, batch and workers in words."""
    parts = [f"{cell.engine} {cell.variant}".strip() + (f" ({cell.tag})" if cell.tag else "")]
    if cell.batch is not None:
        parts.append(f"batch {cell.batch:,}")
    parts.append(f"{cell.workers} worker{'' if cell.workers == 1 else 's'}")
    return ", ".join(parts)


def status_text(statuses: Mapping[str, int]) -> str:
    """Write the statuses of a cell's trials, for example `ok 2 of 3, crash 1`."""
    if len(statuses) == 1:
        return next(iter(statuses))
    total = sum(statuses.values())
    first = [f"ok {statuses['ok']} of {total}"] if "ok" in statuses else []
    return ", ".join(first + [f"{s} {n}" for s, n in sorted(statuses.items()) if s != "ok"])


def _row(cell: Cell, base: Baseline | None) -> HeadlineRow:
    eps = cell.throughput_eps
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
        oversubscribed=cell.oversubscribed,
        events=None if cell.events is None else count(cell.events),
        throughput=rate(eps.median) if eps else None,
        low=rate(eps.low) if eps else None,
        high=rate(eps.high) if eps else None,
        n=eps.n if eps else 0,
        ratio=ratio(eps.median / base.eps) if eps and base and base.eps > 0 else None,
        is_baseline=base is not None and base.cell == cell.name,
        p50=duration(p50.median) if p50 else None,
        p99=duration(p99.median) if p99 else None,
        latency_definition=cell.latency_definition,
        cpu_per_million=duration(cpu.median * 1e9) if cpu else None,
        peak_rss=memory(rss.median) if rss else None,
        status=status_text(cell.statuses),
        reason="\n".join(cell.reasons or cell.notes),
    )
