"""`lab environment`: installs an engine's separate environment."""

import click

from streamlab.lab.cli.completion import ENGINES
from streamlab.lab.cli.output import LazyCommand


@click.command("environment", cls=LazyCommand)
@click.argument("name", **ENGINES)
def make_environment() -> None:
    """Install the packages that engine NAME needs, at locked versions, in a separate environment.

    Needs network access to the package index. `lab list engines` shows the engines with an
    environment, and whether it is installed.
    """
