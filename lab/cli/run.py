"""`lab run`: runs the cells of a matrix, or one workload without a matrix."""

import click

from streamlab.lab.cli.completion import DATASETS, ENGINES, RUNS, WORKLOADS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import runs_option


@click.command(cls=LazyCommand)
@click.argument("what", required=False, metavar="[MATRIX|WORKLOAD]", **WORKLOADS)
@click.option(
    "--engine",
    "engines",
    **ENGINES,
    multiple=True,
    metavar="NAME[/VARIANT]",
    help="With a WORKLOAD: run it on this engine; repeatable.",
)
@click.option(
    "--workers", "-w", metavar="N,...", help="Numbers of workers; sequential engines use one."
)
@click.option("--batch", metavar="N,...", help="Batch sizes, for variants that use one.")
@click.option(
    "--repetitions",
    "-n",
    type=click.IntRange(min=1),
    help="Fresh processes per cell; default 1.",
)
@click.option(
    "--events",
    type=click.IntRange(min=0),
    help="Approximate number of generated events; default 1M.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the generator; default 1.")
@click.option(
    "--dataset",
    metavar="ID",
    help="Use this dataset; the start of its id.",
    **DATASETS,
)
@click.option(
    "--param", "params", multiple=True, metavar="K=V", help="A parameter of the generator."
)
@click.option("--query", "query", multiple=True, metavar="K=V", help="A query parameter.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="[ENGINE.]K=V",
    help="An option of all engines, or of one.",
)
@click.option("--demo", is_flag=True, help="Run the matrix that ships with the lab.")
@click.option(
    "--real-data",
    type=AbsolutePath(exists=True, file_okay=False),
    help="With --demo: also run on the real page views and edits in this folder.",
)
@click.option(
    "--only", multiple=True, help="Run only cells whose id matches this pattern; repeatable."
)
@click.option("--dry-run", is_flag=True, help="Print the cells; run nothing.")
@click.option(
    "--resume",
    **RUNS,
    metavar="RUN",
    help="Resume an interrupted run: its directory, its name in --out, or `latest`. Needs no "
    "MATRIX.",
)
@runs_option("--out", about="Folder of runs")
@click.option("--quiet", "-q", is_flag=True, help="Print only problems, and the run directory.")
@click.option(
    "--verbose", "-v", is_flag=True, help="Print each trial's plan, costs, counters and log, too."
)
@click.option("--report", is_flag=True, help="Write the run's report, too, and print its path.")
@click.option("--keep-outputs", is_flag=True, help="Store each cell's answer in outputs/.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master for datasets.")
def run() -> None:
    """Run the cells of MATRIX, a TOML file, or WORKLOAD on engines, each trial in a fresh process.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].

    Each answer is compared with the oracle's after the timed part. The last line printed is the run
    directory. Exit codes: 0 all cells ok, unsteady, unsustained or unsupported, 3 an engine failed,
    4 an answer was wrong, 130 interrupted.
    """
