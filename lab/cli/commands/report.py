"""Implements `lab report`."""

from pathlib import Path

import click

from streamlab.lab.cli.commands.compare import SEED
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.paths import runs_root
from streamlab.lab.cli.write_errors import check_file, writing
from streamlab.reports.side_by_side import LETTERS
from streamlab.results.store import read_run


def report(runs: tuple[str, ...], out: Path | None) -> None:
    """Write the report of RUN as one HTML file and print its path."""
    echo(write_pages([find_run(run, runs_root()) for run in runs], out))


def write_pages(run_dirs: list[Path], out: Path | None = None) -> Path:
    """Write the report of one or several runs and return its path."""
    check_file(out, "the report")
    with writing("the report or one of its figures", run_dirs[-1] if out is None else out):
        return _write(run_dirs, out)


def _write(run_dirs: list[Path], out: Path | None) -> Path:
    # Imported late: jinja2 and matplotlib are slow, and `lab run` needs neither.
    from streamlab.reports.page import write_report
    from streamlab.reports.page.comparison import write_comparison

    if len(run_dirs) == 1:
        return write_report(run_dirs[0], out)
    places = [path.resolve() for path in run_dirs]
    twice = [path.name for index, path in enumerate(places) if path in places[:index]]
    if twice:
        raise click.UsageError(f"run {twice[0]} is named twice; a comparison needs different runs")
    if len(run_dirs) > len(LETTERS):
        raise click.UsageError(
            f"{len(run_dirs)} runs are too many for one page (at most {len(LETTERS)}); use "
            "`lab history`"
        )
    runs = [read_run(path) for path in run_dirs]
    target = run_dirs[-1] / "comparison.html" if out is None else out
    return write_comparison(runs, target, seed=SEED)
