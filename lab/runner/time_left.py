"""Estimates how long the remaining trials of a run take."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from streamlab.lab.matrix.cells import Cell, Trial


class TimeLeft:
    """Learns from the trials of a run how long the others take.

    A trial takes as long as earlier trials of its cell, else of its engine and variant, else as the matrix says
    (`trial_s`), else as all trials so far.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        """Prepare for the trials of a run, in order."""
        self._trials = trials
        self._next = 0
        self._cells = {trial.cell.id: trial.cell for trial in trials}
        self._remaining = Counter(trial.cell.id for trial in trials)
        self._seconds: dict[tuple[str, ...], list[float]] = {}

    def measured(self, trial: Trial, seconds: float) -> None:
        """Note how long a trial took."""
        for key in _keys(trial.cell):
            self._seconds.setdefault(key, []).append(seconds)

    def after(self, trial: Trial) -> float:
        """Return the seconds for the trials after a trial; calls are in the order of trials.

        At least one trial was measured. Votes of searches come after all trials.
        """
        for _ in range(self._next, min(trial.order_index + 1, len(self._trials))):
            self._remaining[self._trials[self._next].cell.id] -= 1
            self._next += 1
        return sum(
            count * self._expected(self._cells[cell]) for cell, count in self._remaining.items()
        )

    def ahead(self, trial: Trial) -> tuple[float, float] | None:
        """Return the seconds for a starting trial, and for all later trials; None before any was measured."""
        return (self._expected(trial.cell), self.after(trial)) if self._seconds else None

    def _expected(self, cell: Cell) -> float:
        own, variant, all_trials = _keys(cell)
        for key in (own, variant):
            if key in self._seconds:
                return fmean(self._seconds[key])
        return cell.trial_s or fmean(self._seconds[all_trials])


def _keys(cell: Cell) -> tuple[tuple[str, ...], ...]:
    """Return keys of the cells that are like one, from the most to the least alike."""
    return (cell.id,), (cell.engine, cell.variant), ()
