"""Implements `lab history`."""

from pathlib import Path

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.commands.compare import SEED
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.write_errors import check_file, writing
from streamlab.lab.errors import LabError
from streamlab.reports.page.history import write_history
from streamlab.reports.steps import refuse_other_machines, sort_by_time, split_by_machine
from streamlab.results.errors import ResultsError
from streamlab.results.machines import exact_fields
from streamlab.results.store import Run, list_runs, read_run


def history(runs: tuple[str, ...], metric: str, out: Path | None, root: Path) -> int:
    """Plot each cell over the stored runs of a machine, and mark abrupt changes, in one HTML file."""
    check_file(out, "the history")
    selected, left_out = _runs_by_name(runs, root) if runs else _stored_runs(root)
    sorted_runs = sort_by_time(selected)
    if runs:
        refuse_other_machines(sorted_runs)
    same_machine, other_machines = split_by_machine(sorted_runs)
    machine = exact_fields(sorted_runs[-1].meta.host)
    left_out += [
        f"{run.path.name}: made on another machine ({reason})" for run, reason in other_machines
    ]
    target = root / "history.html" if out is None else out
    with writing("the history", target):
        page = write_history(
            same_machine, target, metric=metric, seed=SEED, machine=machine, left_out=left_out
        )
    echo(page)
    return EXIT_OK


def _runs_by_name(names: tuple[str, ...], root: Path) -> tuple[list[Run], list[str]]:
    paths = {path.resolve(): path for path in (find_run(name, root) for name in names)}
    return [read_run(path) for path in paths.values()], []


def _stored_runs(root: Path) -> tuple[list[Run], list[str]]:
    """Return the readable runs of a folder, and the reason for each unreadable run."""
    readable, left_out = [], []
    for path in list_runs(root):
        try:
            run = read_run(path)
            if run.meta.imported is None:
                readable.append(run)
            else:
                left_out.append(f"{path.name}: imported; name the run to include it")
        except ResultsError as error:
            left_out.append(f"{path.name}: {error}")
    if not readable:
        reasons = f" ({'; '.join(left_out)})" if left_out else ""
        raise LabError(
            f"no readable run in {root}{reasons}; make one with `lab run`, or name another folder "
            "with --runs or LAB_RUNS"
        )
    return readable, left_out
