"""`lab report RUN...`: writes the HTML report of a run, or several runs side by side."""

from pathlib import Path

import click

from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import find_run, runs_root


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", **RUNS)
@click.option(
    "--out",
    type=AbsolutePath(dir_okay=False),
    help="The file to write; by default report.html in the run's directory, of several runs "
    "comparison.html in that of the last.",
)
def report(runs: tuple[str, ...], out: Path | None) -> None:
    """Write the report of RUN as one HTML file and print its path; of several, side by side.

    RUN is a run's directory, or the name of a stored run or a part of it (`lab list runs`), or
    `latest`. The figures of one run are also written as SVG and PNG, into
    `figures` in its directory. Of several runs, the others are compared with the first: ratios with
    intervals as `lab compare` has them, and what differs between the runs.
    """
    write_pages([find_run(run, runs_root()) for run in runs], out)


def write_pages(found: list[Path], out: Path | None = None) -> None:
    """Write the report of a run, or of several, and print its path; None: into a run's directory.

    Raises:
        LabError: it cannot be written there.
    """
    from streamlab.lab.cli.write_errors import check_file, writing

    check_file(out, "the report")
    with writing("the report or a figure of it", found[-1] if out is None else out):
        written = _one(found[0], out) if len(found) == 1 else _several(found, out)
    click.echo(written)


def _one(run_dir: Path, out: Path | None) -> Path:
    from streamlab.reports.page import write_report  # matplotlib is heavy

    return write_report(run_dir, out)


def _several(run_dirs: list[Path], out: Path | None) -> Path:
    from streamlab.lab.cli.compare import SEED
    from streamlab.reports.page.comparison import write_comparison
    from streamlab.reports.side_by_side import LETTERS
    from streamlab.results.store import read_run

    places = [path.resolve() for path in run_dirs]
    twice = [path.name for place, path in enumerate(places) if path in places[:place]]
    if twice:
        raise click.UsageError(
            f"run {twice[0]} is named twice; a comparison wants different runs: leave one out"
        )
    if len(run_dirs) > len(LETTERS):
        raise click.UsageError(
            f"{len(run_dirs)} runs are too many side by side, at most {len(LETTERS)} fit; "
            "`lab history` draws any number"
        )
    runs = [read_run(path) for path in run_dirs]
    target = run_dirs[-1] / "comparison.html" if out is None else out
    return write_comparison(runs, target, seed=SEED)
