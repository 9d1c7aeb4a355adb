"""Checks that an existing run has all cells of a figure's stage, under the same conditions."""

from collections.abc import Sequence

from streamlab.lab.errors import FigureError
from streamlab.lab.matrix.cells import Cell, describe
from streamlab.results.differences import differing_values
from streamlab.results.store import Run

_FREE_KEYS = ("repetitions", "timeout_s")
"""Keys that may differ from the figure's matrix, because they affect certainty, not results."""
_SHOWN = 6
"""Number of missing cells that a message lists."""


def check(run: Run, cells: Sequence[Cell], figure_id: str, stage: str) -> None:
    """Check that the run has a finished trial of every cell, under the stage's conditions.

    Raises:
        FigureError: a cell is missing, or has other conditions; the message names it.
    """
    finished_ids = {row.cell for row in run.rows}
    missing_ids = [cell.id for cell in cells if cell.id not in finished_ids]
    if missing_ids:
        names = ", ".join(missing_ids[:_SHOWN]) + (
            f" and {len(missing_ids) - _SHOWN} more" if missing_ids[_SHOWN:] else ""
        )
        resume = "" if run.meta.complete else f" (finish it: lab run --resume {run.path})"
        raise FigureError(
            f"{run.path} cannot serve {figure_id}, {stage}: it lacks {len(missing_ids)} of "
            f"{len(cells)} cells: {names}{resume}"
        )
    run_cells = run.meta.cells
    for cell in cells:
        conditions, expected = run_cells.get(cell.id, {}), describe(cell)
        for key in (key for key in expected if key in conditions and key not in _FREE_KEYS):
            for place, old, new in differing_values(conditions[key], expected[key], key):
                raise FigureError(
                    f"{run.path} cannot serve {figure_id}, {stage}: its cell {cell.id} differs: "
                    f"{place} is {old!r}, expected {new!r}"
                )
