"""Finds cells whose trials differ by more than the noise of their run explains."""

from collections.abc import Iterable
from statistics import median

from streamlab.results.query import Spread, by_cell
from streamlab.results.schema import OK, TrialRow

FEWEST_TRIALS = 3
LEAST_DIFFERENCE = 0.3
"""Least difference between the slowest and the fastest trial; shared machines sometimes show less."""
TIMES_NOISE = 4.0
"""Least ratio of that difference to the usual difference in the run's other cells."""
NOISE_ALONE = 0.125
"""Assumed usual difference in a run with fewer than two other cells."""


def unequal_trials(rows: Iterable[TrialRow]) -> dict[str, int]:
    """Return a warning for each cell whose verified trials differ too much, and their number.

    The noise of a run is the median difference between slowest and fastest trial over its other cells.
    Excludes trials under a load, which last as long as the load.
    """
    cells = {
        summary.cell: Spread(values=tuple(row.duration_s or 0.0 for row in summary.rows))
        for summary in by_cell(row for row in rows if not row.load)
        if len(summary.rows) >= FEWEST_TRIALS
        and all(row.status == OK and row.duration_s for row in summary.rows)
    }
    apart = {name: spread.high / spread.low - 1 for name, spread in cells.items()}
    warnings = {}
    for name, spread in cells.items():
        others = [share for other, share in apart.items() if other != name]
        noise = median(others) if len(others) > 1 else NOISE_ALONE
        if apart[name] > max(LEAST_DIFFERENCE, TIMES_NOISE * noise):
            usual = f", trials of other cells by {noise:.0%}" if len(others) > 1 else ""
            text = (
                f"{name}: its {spread.n} trials took {spread.low:.3g} to {spread.high:.3g} s and "
                f"differ by {apart[name]:.0%}{usual}: look for state that persists from trial to "
                "trial, and for other load on the machine"
            )
            warnings[text] = spread.n
    return warnings
