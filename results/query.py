"""Summarizes the trials of a run per cell, for tables and plots.

A summary has the median, smallest and largest value over fresh processes, and their number n.
With n = 1 all three are equal and show no spread.
The median of a latency percentile is the median over the percentiles of the processes.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from streamlab.results.schema import IMPORTED, MEASURED, OK, STATUSES, TrialRow

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A quantity of several processes; `values` are in order of repetition and never empty."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value, or the mean of the two middle values."""
        return float(median(self.values))

    @property
    def low(self) -> float:
        """The smallest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest value."""
        return max(self.values)

    @property
    def n(self) -> int:
        """The number of values."""
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """One cell over its repetitions.

    Attributes:
        cell, workload, label, engine, variant, workers: as stored.
        status: the worst status of any repetition; the cell has numbers only if this status is in
            `schema.MEASURED`.
        reason: the first reason among repetitions with this status; None without one.
        rows: the trials, in order.
    """

    cell: str
    workload: str
    label: str | None
    engine: str
    variant: str
    workers: int
    status: str
    reason: str | None
    rows: tuple[TrialRow, ...]

    def spread(self, column: str) -> Spread | None:
        """Return the spread of a numeric column; None if the cell has no numbers or the column no values."""
        if self.status not in MEASURED:
            return None
        return spread_of(self.rows, column)


# One wrong answer makes the whole cell wrong.
_WORST_FIRST = (
    "wrong_output",
    "crash",
    "oom",
    "timeout",
    "invalid",
    "unsupported",
    "unsustained",
    "unsteady",
    IMPORTED,
    OK,
)
assert set(_WORST_FIRST) == set(STATUSES)


def spread(values: Iterable[Any]) -> Spread | None:
    """Return the spread of the values that are not None; None without any."""
    numbers = tuple(float(value) for value in values if value is not None)
    return Spread(values=numbers) if numbers else None


def spread_of(rows: Iterable[TrialRow], column: str) -> Spread | None:
    """Return the spread of a column; None if no row has a value."""
    return spread(getattr(row, column) for row in rows)


def by_cell(rows: Iterable[TrialRow]) -> tuple[CellSummary, ...]:
    """Group trials by cell, in the order in which the cells first appear.

    Excludes trials of searches (`by_search`): their rates differ, so they are not repetitions.
    """
    cells = group_by((row for row in rows if row.probe is None), lambda row: row.cell)
    return tuple(_summarise(cell, tuple(trials)) for cell, trials in cells.items())


def by_search(rows: Iterable[TrialRow]) -> dict[str, list[TrialRow]]:
    """Return the trials of every search by its cell, in the order of execution."""
    probes = sorted((r for r in rows if r.probe is not None), key=lambda row: row.order_index)
    return group_by(probes, lambda row: row.cell)


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items by key; keys in the order in which they first appear."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _summarise(cell: str, rows: tuple[TrialRow, ...]) -> CellSummary:
    statuses = {row.status for row in rows}
    status = next(status for status in _WORST_FIRST if status in statuses)
    reasons = [row.reason for row in rows if row.status == status and row.reason]
    first = rows[0]
    return CellSummary(
        cell=cell,
        workload=first.workload,
        label=first.workload_label,
        engine=first.engine,
        variant=first.variant,
        workers=first.workers,
        status=status,
        reason=reasons[0] if reasons else None,
        rows=rows,
    )
