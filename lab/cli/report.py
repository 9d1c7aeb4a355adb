"""`lab report RUN...`: writes the HTML report of a run, or of several runs side by side."""

import click

from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath


@click.command(cls=LazyCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", **RUNS)
@click.option(
    "--out",
    type=AbsolutePath(dir_okay=False),
    help="File to write; default: report.html in the run's directory, or comparison.html in the "
    "last run's directory for several runs.",
)
def report() -> None:
    """Write the report of RUN as one HTML file and print its path.

    RUN is a run's directory, the name of a stored run or a part of it (`lab list runs`), or
    `latest`. For one run, the figures are also written as SVG and PNG into `figures` in its
    directory. Several runs are shown side by side and compared with the first: ratios with
    intervals as in `lab compare`, and the differences between the runs.
    """
