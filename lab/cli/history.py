"""`lab history`: plots each cell over all stored runs of a machine."""

import click

from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import runs_option

METRIC_NAMES = ("throughput", "cpu", "p50", "p99", "energy", "rss")


@click.command(cls=LazyCommand)
@click.argument("runs", nargs=-1, metavar="[RUN]...", **RUNS)
@click.option(
    "--metric",
    type=click.Choice(METRIC_NAMES),
    default=METRIC_NAMES[0],
    show_default=True,
    help="Metric to plot.",
)
@click.option(
    "--out",
    type=AbsolutePath(dir_okay=False),
    help="File to write; default: history.html in the folder of runs.",
)
@runs_option("--runs", "root", about="Folder of runs")
def history() -> None:
    """Plot each cell over the stored runs of a machine, with steps, as one HTML file.

    Without RUN, uses all runs of the machine of the newest run; the page lists the others. With RUN
    (a directory, or a name in the folder of runs), uses these runs, which must be of one machine.
    Prints the path of the page.
    """
