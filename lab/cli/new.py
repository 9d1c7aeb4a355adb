"""`lab new`: creates a package for a new engine or workload."""

from pathlib import Path

import click

from streamlab.lab.cli.output import LabGroup, LazyCommand
from streamlab.lab.cli.paths import AbsolutePath

_in = click.option(
    "--in",
    "place",
    type=AbsolutePath(file_okay=False),
    default=Path(),
    help="Parent folder of the package; default: the current folder.",
)


@click.group("new", cls=LabGroup)
def new() -> None:
    """Create a package that passes its tests, as a starting point."""


@new.command("engine", cls=LazyCommand)
@click.argument("name")
@click.option(
    "--streaming", is_flag=True, help="Take event after event; default: the whole input at once."
)
@_in
def engine() -> None:
    """Create engine NAME: pyproject.toml, README, a class that runs one workload, and a test."""


@new.command("workload", cls=LazyCommand)
@click.argument("name")
@_in
def workload() -> None:
    """Create workload NAME: pyproject.toml, README, a program on a CSV file, an oracle, a test."""
