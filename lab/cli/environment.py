"""`lab environment`: installs an engine's separate environment."""

import click

from streamlab.engines import environment
from streamlab.engines.registry import engine
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.completion import ENGINES
from streamlab.lab.cli.output import LabCommand, echo


@click.command("environment", cls=LabCommand)
@click.argument("name", **ENGINES)
def make_environment(name: str) -> int:
    """Install the packages that engine NAME needs, at locked versions, in a separate environment.

    Needs network access to the package index. `lab list engines` shows the engines with an
    environment, and whether it is installed.
    """
    required = environment.declared_environment(engine(name))
    if required is None:
        echo(f"engine {name} needs no separate environment: it runs in the lab's")
        return EXIT_OK
    if environment.unusable_reason(name, required) is None:
        echo(f"{environment.folder(name)} is up to date")
        return EXIT_OK
    echo(f"installing {required.lock} into {environment.folder(name)}", err=True)
    echo(environment.make(name, required))
    return EXIT_OK
