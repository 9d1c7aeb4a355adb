"""`lab history`: each cell over all stored runs of a machine."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import find_run, runs_option, whole

if TYPE_CHECKING:
    from streamlab.results.store import Run

METRIC_NAMES = ("throughput", "cpu", "p50", "p99", "energy", "rss")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", **RUNS)
@click.option(
    "--metric",
    type=click.Choice(METRIC_NAMES),
    default=METRIC_NAMES[0],
    show_default=True,
    help="What to follow.",
)
@click.option(
    "--out",
    type=AbsolutePath(dir_okay=False),
    help="The file to write; history.html in the folder of runs by default.",
)
@runs_option("--runs", "root", about="Where runs are")
def history(runs: tuple[str, ...], metric: str, out: Path | None, root: Path) -> int:
    """Draw each cell over the stored runs of a machine, with steps, as one HTML file.

    Without RUN all runs are taken that were made on the machine of the newest one; the page names
    those left out. With RUN (a directory, or a name below the folder of runs) only these are, and
    must be of one machine. Prints the path of the page.
    """
    from streamlab.lab.cli.compare import SEED
    from streamlab.lab.cli.write_errors import check_file, writing
    from streamlab.reports.page.history import write_history
    from streamlab.reports.steps import refuse_other_machines, sort_by_time, split_by_machine
    from streamlab.results.machines import exact_fields

    check_file(out, "the history")
    found, left_out = _named(runs, root) if runs else _stored(root)
    ordered = sort_by_time(found)
    if runs:
        refuse_other_machines(ordered)
    own, others = split_by_machine(ordered)
    machine = exact_fields(ordered[-1].meta["host"])
    left_out += [f"{run.path.name}: made on another machine ({said})" for run, said in others]
    target = root / "history.html" if out is None else out
    with writing("the history", target):
        written = write_history(
            own, target, metric=metric, seed=SEED, machine=machine, left_out=left_out
        )
    click.echo(written)
    return EXIT_OK


def _named(names: tuple[str, ...], root: Path) -> tuple[list["Run"], list[str]]:
    from streamlab.results.store import read_run

    places = {path.resolve(): path for path in (find_run(name, root) for name in names)}
    return [read_run(path) for path in places.values()], []


def _stored(root: Path) -> tuple[list["Run"], list[str]]:
    """Return the runs below a folder that can be read, and what is wrong with the others.

    Raises:
        LabError: there is none.
    """
    from streamlab.lab.errors import LabError
    from streamlab.results.errors import ResultsError
    from streamlab.results.store import list_runs, read_run

    found, left_out = [], []
    for path in list_runs(root):
        try:
            found.append(read_run(whole(path)))
        except ResultsError as error:
            left_out.append(f"{path.name}: {error}")
    if not found:
        said = f" that can be read ({'; '.join(left_out)})" if left_out else ""
        raise LabError(
            f"no run in {root}{said}: a history needs at least one; `lab run` makes one, "
            "--runs or LAB_RUNS names another place"
        )
    return found, left_out
