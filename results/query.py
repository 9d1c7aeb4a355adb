"""What tables and plots ask of a run: one summary a cell, over its repetitions.

The median, smallest and largest value over fresh processes are given with their number, exactly as
measured: with n = 1 all three are that one value, and no spread may be read from them. The median
of a latency percentile is that of the processes' own percentiles, never a mean of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from streamlab.results.schema import OK, STATUSES, VERIFIED
from streamlab.results.store import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One quantity of several processes. `values` are in order of repetition and never empty."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value, or the mean of the two middle ones."""
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
        """How many there are."""
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """One cell over its repetitions.

    Attributes:
        cell, workload, label, engine, variant, workers, batch, dataset, oversubscribed: as stored.
        status: the worst status of any repetition; a cell has numbers only when it is
            one of `schema.VERIFIED`.
        reason: that of the first repetition with this status; None if it gave none.
        repetitions: trials recorded.
        rows: these trials, in order.
    """

    cell: str
    workload: str
    label: str | None
    engine: str
    variant: str
    workers: int
    batch: int | None
    dataset: str | None
    oversubscribed: bool
    status: str
    reason: str | None
    repetitions: int
    rows: tuple[Row, ...]

    def spread(self, column: str) -> Spread | None:
        """Return the spread of a numeric column; None when not ok or without values."""
        if self.status not in VERIFIED:
            return None
        return spread_of(self.rows, column)


# A cell with one wrong answer is wrong, whatever its other repetitions say.
_WORST_FIRST = (
    "wrong_output",
    "crash",
    "oom",
    "timeout",
    "invalid",
    "unsupported",
    "unsustained",
    "unsteady",
    OK,
)
assert set(_WORST_FIRST) == set(STATUSES)


def spread(values: Iterable[Any]) -> Spread | None:
    """Return the spread of the values that are not None, or None when there are none."""
    known = tuple(float(value) for value in values if value is not None)
    return Spread(values=known) if known else None


def spread_of(rows: Iterable[Row], column: str) -> Spread | None:
    """Return the spread of a column, or None where no row has a value."""
    return spread(row[column] for row in rows)


def by_cell(rows: Iterable[Row]) -> tuple[CellSummary, ...]:
    """Group trials by cell, in the order in which the cells first appear.

    Trials of a search are left out: they ask about different rates, so they repeat nothing; see
    `by_search`.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["probe"] is None:
            groups.setdefault(row["cell"], []).append(row)
    return tuple(_summary(cell, tuple(group)) for cell, group in groups.items())


def by_search(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """Return the trials of every search by its cell, in the order in which they were run."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["order_index"])):
        if row["probe"] is not None:
            groups.setdefault(row["cell"], []).append(row)
    return {cell: tuple(group) for cell, group in groups.items()}


def _summary(cell: str, rows: tuple[Row, ...]) -> CellSummary:
    found = {row["status"] for row in rows}
    status = next(status for status in _WORST_FIRST if status in found)
    reasons = [row["reason"] for row in rows if row["status"] == status and row["reason"]]
    first = rows[0]
    return CellSummary(
        cell=cell,
        workload=first["workload"],
        label=first["workload_label"],
        engine=first["engine"],
        variant=first["variant"],
        workers=first["workers"],
        batch=first["batch"],
        dataset=first["dataset"],
        oversubscribed=bool(first["oversubscribed"]),
        status=status,
        reason=reasons[0] if reasons else None,
        repetitions=len(rows),
        rows=rows,
    )
