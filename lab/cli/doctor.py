"""`lab doctor`: checks the machine and prints remedies."""

import click

from streamlab.lab.cli.completion import ENGINES
from streamlab.lab.cli.output import LazyCommand


@click.command(cls=LazyCommand)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@click.option(
    "--generator",
    "generator",
    is_flag=True,
    help="Measure instead the highest rate of each load generator; about a second each.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="With --generator: only this engine; repeatable.",
    **ENGINES,
)
def doctor() -> None:
    """Check whether this machine is fit for measurements, and suggest remedies.

    `warn`: numbers are less reliable, or a column stays empty. `missing`: something does not work.
    The exit code is always 0.
    """
