"""Reads the plan of a run: a matrix, and the cells selected from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.errors import ResumeError
from streamlab.lab.matrix.cells import Cell, expand
from streamlab.lab.matrix.matrix import Matrix, WorkloadEntry, parse_matrix
from streamlab.lab.runner.datasets import check_entries
from streamlab.results.row_conversion import restore_bytes
from streamlab.results.store import read_meta


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A matrix and the cells to run.

    Attributes:
        text: the matrix, as TOML.
        only: patterns that selected the cells; empty for all cells.
        keep_outputs: whether to store one answer for each cell.
        requested_engines: names, as `engine` or `engine/variant`; each must run in at least one cell.
    """

    matrix: Matrix
    text: str
    cells: tuple[Cell, ...]
    only: tuple[str, ...] = ()
    keep_outputs: bool = False
    requested_engines: tuple[str, ...] = ()

    @property
    def entries(self) -> list[WorkloadEntry]:
        """Return the distinct workload entries of the cells."""
        return entries_of(self.cells)


def plan_run(
    text: str,
    source: str,
    folder: Path | None = None,
    *,
    only: tuple[str, ...] = (),
    keep_outputs: bool = False,
    requested_engines: tuple[str, ...] = (),
) -> RunPlan:
    """Parse a matrix, check its workloads, and select its cells.

    `source` names the matrix in messages; relative paths start at `folder`, or at the current folder.
    """
    matrix = parse_matrix(text, source, folder)
    check_entries(matrix)
    cells = expand(matrix, only)
    return RunPlan(
        matrix=matrix,
        text=text,
        cells=cells,
        only=only,
        keep_outputs=keep_outputs,
        requested_engines=requested_engines,
    )


def read_plan(run_dir: Path) -> RunPlan:
    """Return the plan of a stored run, with its workloads as they are now.

    Raises:
        ResultsError: its run.json is damaged, or of another version.
        LabError, ModelError: its matrix is no longer valid.
    """
    meta = read_meta(run_dir)
    if meta.imported is not None:
        raise ResumeError(
            f"{run_dir} was imported from a file of {meta.imported.get('tool')}: it has no matrix, and "
            "no answers; import a new file instead (lab import-run)"
        )
    return plan_run(
        restore_bytes(meta.matrix_text),
        str(run_dir / "run.json"),
        Path(restore_bytes(meta.matrix_folder)),
        only=tuple(meta.only),
        keep_outputs=meta.keep_outputs,
        requested_engines=tuple(meta.requested_engines),
    )


def entries_of(cells: Iterable[Cell]) -> list[WorkloadEntry]:
    """Return the distinct workload entries of cells."""
    return list({cell.entry.key: cell.entry for cell in cells}.values())
