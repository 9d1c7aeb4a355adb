"""`lab report RUN`: writes the HTML report of a run."""

import os
from pathlib import Path

import click

LATEST = "latest"


@click.command()
@click.argument("run")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; report.html in the run's directory by default.",
)
def report(run: str, out: Path | None) -> None:
    """Write the report of RUN as one HTML file and print its path.

    RUN is a run's directory, or the name of one below the directory of runs (LAB_RUNS, else
    results/runs), or `latest`. The figures are also written as SVG and PNG, into `figures` in the
    run's directory.
    """
    run_dir = find_run(run, Path(os.environ.get("LAB_RUNS", "results/runs")))
    from lab.cli.writing import check_file, writing
    from reports.page import write_report  # matplotlib is heavy

    check_file(out, "the report")
    with writing("the report or a figure of it", run_dir if out is None else out):
        written = write_report(run_dir, out)
    click.echo(written)


def find_run(run: str, root: Path) -> Path:
    """Return the directory of a run given by its path, its name below `root`, or as `latest`.

    Raises:
        click.UsageError: there is no such run.
        ResultsError: its run.json is damaged.
    """
    from results.store import list_runs

    if (Path(run) / "run.json").is_file():
        return whole(Path(run))
    known = {path.name: path for path in list_runs(root)}
    if run == LATEST and known:
        return whole(
            max(known.values(), key=lambda path: ((path / "run.json").stat().st_mtime, path))
        )
    if run in known:
        return whole(known[run])
    names = ", ".join(list(known)[-5:]) or "none"
    raise click.UsageError(
        f"{run!r} is neither a run's directory (it would hold run.json) nor a run below {root}; "
        f"the last ones there: {names}. `lab list runs` shows all, LAB_RUNS names another place."
    )


def whole(run_dir: Path) -> Path:
    """Return a run's directory when its run.json says all that commands ask of it.

    Raises:
        ResultsError: it is damaged.
    """
    from results.meta import check_meta
    from results.store import read_meta

    check_meta(run_dir, read_meta(run_dir))
    return run_dir
