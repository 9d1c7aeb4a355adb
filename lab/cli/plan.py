"""`lab plan`: shows how a workload runs in parallel: its synchronization plan or deployment."""

import click

from streamlab.lab.cli.completion import DATASETS, WORKLOADS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath

MOST_EVENTS = 10**15
"""Limit for `--events`: sums of stream frequencies must fit in 64 bits."""


@click.command("plan", cls=LazyCommand)
@click.argument("workload", **WORKLOADS)
@click.option(
    "--workers", "-w", type=click.IntRange(min=1), required=True, help="Number of workers."
)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option(
    "--events",
    type=click.IntRange(0, MOST_EVENTS),
    default=1_000_000,
    show_default=True,
    help="Size of the input to plan for; all keys count as equally frequent.",
)
@click.option(
    "--dataset", metavar="ID", help="Plan for this dataset and its frequencies.", **DATASETS
)
@click.option(
    "--optimizer",
    metavar="NAME",
    help="Optimizer: by-stream (default), balanced, appendix-b, cost, or an installed one.",
)
@click.option(
    "--streams",
    multiple=True,
    metavar="[KIND=]N",
    help="For a graph: number of streams per kind; default: those of the input.",
)
@click.option(
    "--combine", type=click.Choice(("always", "never")), help="For a graph: as for a run."
)
@click.option(
    "--soundness", type=click.Choice(("typed", "none")), help="For a graph: as for a run."
)
@click.option("--dot", type=AbsolutePath(dir_okay=False), help="Write Graphviz to this file.")
@click.option("--svg", type=AbsolutePath(dir_okay=False), help="Write SVG to this file.")
def plan() -> None:
    """Show how WORKLOAD runs in parallel, as text and as a picture.

    For a DGS program, shows the chosen synchronization plan. For a typed dataflow graph, shows the
    graph and its deployment on multicore/dataflow, which depends on the number of streams per kind.

    The optimizer `cost` measures the program's steps on this machine, for about a second, and
    prints the numbers behind its choice. Other load on the machine may change the choice.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """
