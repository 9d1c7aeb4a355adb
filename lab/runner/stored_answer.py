"""Reads the answer that the verified cells of a stored run gave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from streamlab.lab.errors import LabError
from streamlab.lab.runner.run_plan import read_plan
from streamlab.results.schema import OK, TrialRow
from streamlab.results.store import read_run
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.decoded_answer import decode_answer
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.model.workload import INVARIANTS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """An answer.

    Attributes:
        columns: values by column, for all rows or only the first rows; texts and times are decoded.
        count: the number of all rows.
        cells: ids of the cells with this answer.
    """

    columns: Mapping[str, Sequence[object]]
    count: int
    cells: tuple[str, ...]


def read_answer(
    run_dir: Path, pattern: str | None, head: int | None, output: str | None = None
) -> StoredAnswer:
    """Return the answer of the verified cells that match a pattern (None: all cells), or its first `head` rows.

    `output` names one output of a program (`lab.outputs`); None: all. A verified answer equals the expected answer,
    which is stored with the dataset.

    Raises:
        LabError: the run has no such answer or several, or the workload was edited since.
    """
    run = read_run(run_dir)
    names = {row.cell: row.workload.rpartition(".")[2] for row in run.rows}
    if output is not None and output not in names.values():
        outputs = ", ".join(dict.fromkeys(names.values()))
        raise LabError(f"{run_dir.name} has no output {output!r}; it has {outputs or 'no trials'}")
    rows = [
        row
        for row in run.rows
        if pattern is None or fnmatchcase(row.cell, pattern)
        if output in (None, names[row.cell])
    ]
    row = _verified_trial(rows, run_dir, pattern)
    entry = next(cell.entry for cell in read_plan(run_dir).cells if cell.id == row.cell)
    workload = entry.bound()
    if workload.code() != run.meta.code.get(entry.key):
        raise LabError(
            f"{run_dir}: the code of workload {entry.key} was edited since the run; run it again, or "
            "restore the code"
        )
    if workload.checked_by == INVARIANTS:
        raise LabError(
            f"{run_dir.name}: {entry.key} has windows of arrival time, so its answer differs from trial to trial; "
            "use `lab run --keep-outputs` to store the answer of each cell"
        )
    assert row.dataset is not None, "a verified trial has an input"
    dataset = Catalog.default().get(row.dataset)
    columns = expected(workload, dataset)
    head_columns = {name: values[:head] for name, values in columns.items()}
    return StoredAnswer(
        columns=decode_answer(workload, dataset, head_columns),
        count=len(columns["ts"]),
        cells=tuple(sorted({r.cell for r in rows if r.status == OK and _key(r) == _key(row)})),
    )


def _verified_trial(rows: list[TrialRow], run_dir: Path, pattern: str | None) -> TrialRow:
    """Return one of the verified trials, which must all have the same answer."""
    row_by_answer = {_key(row): row for row in rows if row.status == OK}
    if len(row_by_answer) == 1:
        return next(iter(row_by_answer.values()))
    cells = list(dict.fromkeys(row.cell for row in rows))
    if row_by_answer:
        examples = ", ".join(row.cell for row in row_by_answer.values())
        raise LabError(
            f"{run_dir.name} has several answers; choose one with --cell or --output: {examples}"
        )
    if pattern is not None and not cells:
        raise LabError(f"{run_dir.name} has no cell that matches {pattern!r}")
    statuses = ", ".join(dict.fromkeys(f"{row.cell}: {row.status}" for row in rows))
    raise LabError(f"{run_dir.name} has no verified answer ({statuses or 'no trials'})")


def _key(row: TrialRow) -> tuple[str | None, ...]:
    """Return what determines a trial's answer: its workload, query parameters and input."""
    return row.workload, row.workload_query, row.dataset
