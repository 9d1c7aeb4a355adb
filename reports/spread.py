"""The repetitions of one quantity, and their middle."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from results.store import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The repetitions of one quantity. `values` are in order of repetition and never empty."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the middle value, or the mean of the two middle ones."""
        return float(median(self.values))

    @property
    def low(self) -> float:
        """Return the smallest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Return the largest value."""
        return max(self.values)

    @property
    def n(self) -> int:
        """Return the number of repetitions."""
        return len(self.values)


def spread(rows: Iterable[Row], column: str) -> Spread | None:
    """Return the values of a column, or None where no row has one."""
    values = tuple(float(row[column]) for row in rows if row[column] is not None)
    return Spread(values=values) if values else None
