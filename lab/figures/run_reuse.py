"""Checks that a run that is there can serve a figure's stage."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamlab.lab.errors import FigureError
from streamlab.lab.matrix.cells import Cell, describe
from streamlab.results.store import Run

_FREE = ("repetitions", "timeout_s")
"""What may differ from the figure's own matrix: it makes results more certain, not other ones."""


def check(run: Run, cells: Sequence[Cell], figure_id: str, stage: str) -> None:
    """Check that the run has a finished trial of every cell, and of the cell that is meant.

    Args:
        run: the run.
        cells: of the stage.
        figure_id: for messages.
        stage: for messages.

    Raises:
        FigureError: cells are lacking, or one of that name is another; the message names them.
    """
    done = {row["cell"] for row in run.rows}
    missing = [cell.id for cell in cells if cell.id not in done]
    if missing:
        shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if missing[6:] else "")
        resume = "" if run.meta.get("complete") else f" (finish it: lab run --resume {run.path})"
        raise FigureError(
            f"{run.path} cannot serve {figure_id}, {stage}: it lacks {len(missing)} of "
            f"{len(cells)} cells: {shown}{resume}"
        )
    known = run.meta.get("cells") or {}
    for cell in cells:
        found = _difference(known.get(cell.id, {}), describe(cell))
        if found:
            raise FigureError(
                f"{run.path} cannot serve {figure_id}, {stage}: its cell {cell.id} is another: "
                f"{found}"
            )


def _difference(has: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    for key, value in wanted.items():
        if key in _FREE or key not in has or has[key] == value:
            continue
        if isinstance(value, Mapping) and isinstance(has[key], Mapping):
            inner = next((k for k in {**has[key], **value} if has[key].get(k) != value.get(k)), "")
            return f"{key}.{inner} is {has[key].get(inner)!r}, wanted {value.get(inner)!r}"
        return f"{key} is {has[key]!r}, wanted {value!r}"
    return None
