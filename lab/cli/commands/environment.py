"""Implements `lab environment`."""

from streamlab.engines import environment
from streamlab.engines.registry import engine
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo


def make_environment(name: str) -> int:
    """Install the packages that engine NAME needs, at locked versions, in a separate environment."""
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
