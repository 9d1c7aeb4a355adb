"""Builds the headline table of a run as plain data, for the page and the terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from streamlab.reports.baseline import Baseline, baselines, is_too_short, missing_ratio_reason
from streamlab.reports.numbers import Quantity, count, latency, memory, rate, seconds, times
from streamlab.reports.run_warnings import LEAST_DIFFERENCE
from streamlab.reports.summary import Cell, Conditions
from streamlab.results.query import Spread, group_by
from streamlab.results.schema import OK

LEAST_UNTIMED = 0.1
"""Share of the timed part above which the table shows the time of untimed work."""

NOTHING_COMPARED = "nothing compared"
"""Status of a cell whose expected answer is empty, so that a program without output would also be right."""

Group = tuple[str, str]
"""A workload and the label of its input (may be empty); only rows of the same group are comparable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlineRow:
    """A cell of the matrix, formatted; missing quantities are None.

    Attributes:
        ratio: median throughput over the baseline's; its text names the baseline. The baseline is a cell
            of the same class: same workload and input, equal conditions.
        is_clear: whether the ranges of this cell and the baseline are disjoint; a single repetition has
            a range of 30 % either way.
        no_ratio: why a cell with a rate has no ratio: `alone` in its class, `undeclared` or `short`.
        is_baseline: whether this cell is the baseline of its class.
        status: for example `ok`, or `ok 2 of 3, crash 1` if repetitions differ; NOTHING_COMPARED for an
            empty answer.
        reason: why the number is missing or doubtful; may be long.
        untimed: time of the engine's untimed work, if above a tenth of the timed part.
    """

    cell: Cell
    events: Quantity | None
    throughput: Quantity | None
    low: Quantity | None
    high: Quantity | None
    n: int
    ratio: Quantity | None
    is_clear: bool
    no_ratio: str
    is_baseline: bool
    p50: Quantity | None
    p99: Quantity | None
    cpu_per_million: Quantity | None
    peak_rss: Quantity | None
    status: str
    reason: str
    untimed: Quantity | None


def classes_of(members: Sequence[Cell]) -> list[tuple[str, list[HeadlineRow]]]:
    """Group the rows of one workload and input into classes of comparable rates.

    Returns the conditions of each class in words, empty if undeclared, with its rows.
    """
    bases = baselines(members)
    classes = group_by(members, lambda cell: cell.conditions)
    return [
        (str(conditions or ""), [_make_row(cell, bases) for cell in part])
        for conditions, part in classes.items()
    ]


def in_groups(cells: Sequence[Cell]) -> list[tuple[Group, list[Cell]]]:
    """Group cells by workload and input, and sort each group by engine, variant, batch, workers and rate.

    Workloads and engines keep the order in which they first appear, which is that of the matrix.
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


def _make_row(cell: Cell, bases: Mapping[Conditions, Baseline]) -> HeadlineRow:
    eps, conditions = cell.throughput_eps, cell.conditions
    compared = conditions is not None and eps is not None and not is_too_short(cell)
    base = bases.get(conditions) if conditions is not None and compared else None
    is_baseline = base is not None and base.cell.name == cell.name

    def median(spread: Spread | None, write: Callable[[float], Quantity]) -> Quantity | None:
        return write(spread.median) if spread else None

    return HeadlineRow(
        cell=cell,
        events=None if cell.events is None else count(cell.events),
        throughput=median(eps, rate),
        low=rate(eps.low) if eps else None,
        high=rate(eps.high) if eps else None,
        n=eps.n if eps else 0,
        ratio=_format_ratio(cell, eps, base) if eps and base and not is_baseline else None,
        is_clear=is_baseline or not (eps and base) or _is_apart(eps, base.eps),
        no_ratio=missing_ratio_reason(cell, bases),
        is_baseline=is_baseline,
        p50=median(cell.latency_p50_ns, latency),
        p99=median(cell.latency_p99_ns, latency),
        cpu_per_million=median(cell.cpu_s_per_million, seconds),
        peak_rss=median(cell.peak_rss_bytes, memory),
        status=NOTHING_COMPARED if _is_empty(cell) else status_text(cell.statuses),
        reason="\n".join(cell.reasons or cell.notes),
        untimed=_untimed_time(cell),
    )


def _is_empty(cell: Cell) -> bool:
    return cell.status == OK and cell.expected_outputs == 0


def _is_apart(left: Spread, right: Spread) -> bool:
    """Return whether two ranges are disjoint; the range of a single process is widened by LEAST_DIFFERENCE."""
    (left_low, left_high), (right_low, right_high) = map(_widen_range, (left, right))
    return left_low > right_high or left_high < right_low


def _widen_range(eps: Spread) -> tuple[float, float]:
    room = 1 + LEAST_DIFFERENCE if eps.n == 1 else 1.0
    return eps.low / room, eps.high * room


def _format_ratio(cell: Cell, eps: Spread, base: Baseline) -> Quantity | None:
    if eps.median <= 0 or base.eps.median <= 0:
        return None
    return times(eps.median / base.eps.median, base.name_for(cell))


def _untimed_time(cell: Cell) -> Quantity | None:
    if cell.untimed_s is None or cell.duration_s is None:
        return None
    is_large = cell.untimed_s.median > LEAST_UNTIMED * cell.duration_s.median
    return seconds(cell.untimed_s.median) if is_large else None
