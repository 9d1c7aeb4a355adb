"""Gates against a stored run, a baseline that was measured in another job.

The arms are not interleaved, so differences between the jobs (host, neighbours, heat) look like
changes; docs/gates.md has the rates. Prefer `--against REV`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from streamlab.lab.errors import GateError
from streamlab.lab.gate.build import Say
from streamlab.lab.gate.metrics import Pair, TrialResult
from streamlab.lab.gate.trials import find_inputs
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.runner.provenance import host
from streamlab.lab.runner.run_directory import RunDirectory, new_meta, record_dataset
from streamlab.lab.runner.run_plan import RunPlan
from streamlab.lab.runner.runner import Runner, Watcher
from streamlab.lab.runner.session import check_isolation
from streamlab.results.compare import CELL
from streamlab.results.differences import by_cell, describe_differences, differences
from streamlab.results.machines import compare_machines
from streamlab.results.schema import TrialRow
from streamlab.results.store import Run, read_run


def pair_runs(old: Run, new: Run) -> dict[str, Pair]:
    """Return the trials of two runs by cell; a cell that a run lacks has no trials in that run.

    Raises:
        GateError: the runs cannot be compared, or have no cell in common.
    """
    unlike = differences(old, new, by_id=True)
    if unlike:
        raise _make_refusal(f"{new.path} (B)", old, describe_differences(unlike))
    before, after = by_cell(old), by_cell(new)
    if not set(before) & set(after):
        raise GateError(
            f"no cell in common; use runs of the same matrix\n  {old.path} has {_list_cells(before)}\n"
            f"  {new.path} has {_list_cells(after)}"
        )
    return {
        cell: Pair(old=_cell_trials(before.get(cell, [])), new=_cell_trials(after.get(cell, [])))
        for cell in dict.fromkeys((*before, *after))
    }


def check_baseline(old: Run, cells: Sequence[Cell]) -> None:
    """Refuse a baseline that lacks cells or is from another machine, before anything is measured."""
    before = by_cell(old)
    missing_ids = [cell.id for cell in cells if cell.id not in before]
    if missing_ids:
        raise GateError(
            f"the baseline lacks {len(missing_ids)} of the matrix's {len(cells)} cells:\n"
            f"  only in the matrix: {_list_cells(missing_ids)}\n  {old.path} has {_list_cells(before)}\n"
            "measure a new baseline with this matrix, or select cells of the baseline with --only"
        )
    if unlike := compare_machines(old.meta.host, host()).decisive:
        raise _make_refusal("this machine (B)", old, list(map(str, unlike)))


def _make_refusal(new: str, old: Run, reasons: Sequence[str]) -> GateError:
    reason_lines = "\n  ".join(reasons)
    return GateError(
        f"{new} cannot be gated against {old.path} (A):\n  {reason_lines}\n"
        "measure a new baseline on this machine, or use --against REV"
    )


def machine_notes(old: Run, new: Run) -> tuple[str, ...]:
    """Return the differences between two runs' machines that do not affect speed."""
    return tuple(map(str, compare_machines(old.meta.host, new.meta.host).notes))


def measure_run(
    plan: RunPlan, cells: Sequence[Cell], n: int, *, root: Path, master: str, say: Say
) -> Run:
    """Run cells `n` times each as a new run in `root`, and return it.

    Raises:
        KeyboardInterrupt: the run was interrupted; its finished trials are stored.
    """
    matrix = plan.matrix
    repeated_cells = tuple(replace(cell, repetitions=n) for cell in cells)
    meta = msgspec.structs.replace(
        new_meta(replace(plan, cells=repeated_cells, only=tuple(cell.id for cell in cells))),
        name=f"gate-{matrix.name}",
        container=check_isolation(matrix.settings, cells),
    )
    datasets = find_inputs(repeated_cells, master=master, say=say)
    for key, dataset in datasets.items():
        meta = record_dataset(meta, key, dataset)
    directory = RunDirectory.create(root, meta)
    say(f"{len(cells)} cells x {n}: {directory.path}")
    result = Runner(directory, repeated_cells, datasets, Watcher(), matrix.settings).run()
    if result.interrupted:
        raise KeyboardInterrupt
    return read_run(directory.path)


def _list_cells(cells: Iterable[str]) -> str:
    return ", ".join(cells) or "no cell"


def _cell_trials(rows: Sequence[TrialRow]) -> tuple[TrialResult, ...]:
    """Return the trials of the cell itself, without a search's trials."""
    return tuple(
        msgspec.convert(row, TrialResult, from_attributes=True)
        for row in rows
        if row.purpose in (None, CELL)
    )
