"""Implements `lab environment`."""

from streamlab.engines.broker import broker
from streamlab.engines.environment import declared_environment, folder, make, unusable_reason
from streamlab.engines.registry import engine
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo


def environment(name: str) -> int:
    """Install the packages that engine NAME needs, at locked versions, in a separate environment."""
    required_environment = (
        broker.ENVIRONMENT if name == broker.NAME else declared_environment(engine(name))
    )
    if required_environment is None:
        echo(f"engine {name} needs no separate environment: it runs in the lab's")
    elif unusable_reason(name, required_environment) is None:
        echo(f"{folder(name)} is up to date")
    else:
        echo(f"installing {required_environment.lock} into {folder(name)}", err=True)
        echo(make(name, required_environment))
    return EXIT_OK
