"""`lab figure`: reproduces a figure of a paper and judges its claims."""

from typing import Any

import click

from streamlab.lab.cli.completion import FIGURES, RUNS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath

FORMATS = ("png", "svg", "pdf")


def _whole_numbers(_: Any, __: Any, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise click.BadParameter(f"expected whole numbers above 0, e.g. 1,2,4; got {text!r}")
    return numbers


@click.command(cls=LazyCommand)
@click.argument("figure_id", metavar="FIGURE", **FIGURES)
@click.option(
    "--out",
    type=AbsolutePath(file_okay=False),
    help="Folder for the figure and its record; default: results/figures.",
)
@click.option(
    "--run",
    "runs",
    **RUNS,
    multiple=True,
    help="Use this finished run for a stage; once per stage, in order.",
)
@click.option("--resume", help="Resume this interrupted run of the figure.", **RUNS)
@click.option(
    "--workers",
    callback=_whole_numbers,
    help="Degrees of parallelism, e.g. 1,2,4; default: up to the number of cores.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    help="Fresh processes per cell; default: 8, 1 with --quick.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    help="Length of input, phases and windows relative to the paper's; 1 is the paper's.",
)
@click.option(
    "--cores-within-ns",
    type=click.FloatRange(min=0, min_open=True),
    help="Delay a trial, up to a minute, until the latency between cores is below this; see `lab "
    "doctor`.",
)
@click.option("--quick", is_flag=True, help="Make a short run that only indicates; no verdict.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    help="File format of the figure; repeatable. Default: all three.",
)
@click.option("--dry-run", is_flag=True, help="Print the cells of the first stage to run.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master for datasets.")
def figure() -> None:
    """Reproduce FIGURE (e.g. `stretch:6`; see `lab list figures`) and compare it with the paper's.

    Makes the runs that it needs below LAB_RUNS, draws the figure and writes a record in Markdown
    and JSON. Prints a verdict: reproduced, shape only, contradicted, inconclusive, or not
    comparable; with --quick only an indication. The last line printed is the record's path. Exit
    codes: as for `lab run`; a verdict is never a failure.
    """
