"""Estimates how long the remaining trials of a run take."""

from collections.abc import Sequence
from statistics import mean

from streamlab.lab.matrix.cells import Trial


class TimeLeft:
    """Learns from the trials of a run how long the others take.

    A trial takes as long as those of its cell, else as those of its engine and variant, else as the matrix says
    (`trial_s`), else as all trials so far.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        """Prepare for the trials of a run, in order."""
        self._trials = trials
        self._measured: dict[tuple[str, ...], list[float]] = {}

    def measured(self, trial: Trial, seconds: float) -> None:
        """Note how long a trial took."""
        for key in _keys(trial):
            self._measured.setdefault(key, []).append(seconds)

    def after(self, trial: Trial) -> float:
        """Return the seconds for the trials that follow one; at least one was measured."""
        return sum(self._expected(later) for later in self._trials[trial.order_index + 1 :])

    def _expected(self, trial: Trial) -> float:
        cell, variant, all_trials = _keys(trial)
        for key in (cell, variant):
            if key in self._measured:
                return mean(self._measured[key])
        return trial.cell.trial_s or mean(self._measured[all_trials])


def _keys(trial: Trial) -> tuple[tuple[str, ...], ...]:
    """Return keys of the trials that are like one, from the most to the least alike."""
    cell = trial.cell
    return (cell.id,), (cell.engine, cell.variant), ()
