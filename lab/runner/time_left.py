"""Estimates how long the remaining trials of a run take."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from streamlab.lab.matrix.cells import Cell, Trial


class TimeLeft:
    """Learns from finished trials how long the remaining trials take.

    A trial's expected time is the mean over earlier trials of its cell, or else of its engine and variant. Without
    such trials, the expected time is `trial_s` of the matrix, or else the mean over all trials so far.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        """Prepare for the trials of a run, in order."""
        self._trials = trials
        self._next = 0
        self._cells = {trial.cell.id: trial.cell for trial in trials}
        self._remaining = Counter(trial.cell.id for trial in trials)
        self._seconds: dict[tuple[str, ...], list[float]] = {}

    def record(self, trial: Trial, seconds: float) -> None:
        """Record how long a trial took."""
        for key in _keys(trial.cell):
            self._seconds.setdefault(key, []).append(seconds)

    def later_s(self, trial: Trial) -> float:
        """Return the expected seconds of all trials after `trial`; call this method in the order of trials.

        At least one trial must be recorded. Votes of searches come after all other trials.
        """
        for _ in range(self._next, min(trial.order_index + 1, len(self._trials))):
            self._remaining[self._trials[self._next].cell.id] -= 1
            self._next += 1
        return sum(
            count * self._cell_s(self._cells[cell]) for cell, count in self._remaining.items()
        )

    def expected_s(self, trial: Trial) -> tuple[float, float] | None:
        """Return the expected seconds of a starting trial and of all later trials; None before the first record."""
        return (self._cell_s(trial.cell), self.later_s(trial)) if self._seconds else None

    def _cell_s(self, cell: Cell) -> float:
        cell_key, variant_key, common_key = _keys(cell)
        for key in (cell_key, variant_key):
            if key in self._seconds:
                return fmean(self._seconds[key])
        return cell.trial_s or fmean(self._seconds[common_key])


def _keys(cell: Cell) -> tuple[tuple[str, ...], ...]:
    """Return a cell's keys in `_seconds`: for the cell itself, for its engine and variant, and for all cells."""
    return (cell.id,), (cell.engine, cell.variant), ()
