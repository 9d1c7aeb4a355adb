"""`lab compare`: compares two runs, with ratios and intervals."""

import click

from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import runs_option

METRIC_NAMES = ("throughput", "cpu", "p50", "p99", "r_pass", "energy", "rss")


@click.command(cls=LazyCommand)
@click.argument("run_a", **RUNS)
@click.argument("run_b", **RUNS)
@click.option(
    "--metric",
    "names",
    multiple=True,
    type=click.Choice(METRIC_NAMES),
    help="Compare only this metric; repeatable. Default: all that both runs have.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Compare cells and machines that differ, too, and mark the output.",
)
@click.option(
    "--out",
    type=AbsolutePath(file_okay=False),
    help="Folder for compare.md and one figure per metric (SVG, PNG).",
)
@runs_option("--runs", about="Folder of runs")
def compare() -> None:
    """Compare run B with run A: ratios of medians over fresh processes, with intervals.

    A run is a directory, the name of a stored run or a part of it, or `latest`. Only verified
    trials count. Runs of different machines are refused; cells with different inputs or settings
    are listed and left out. Exit codes: 0 compared, 2 no cell can be compared. Use `lab gate` to
    fail on regressions.
    """
