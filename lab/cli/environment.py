"""`lab environment`: makes the environment of its own that an engine needs."""

import click

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.completion import ENGINES


@click.command("environment")
@click.argument("name", **ENGINES)
def make_environment(name: str) -> int:
    """Install what engine NAME needs beside the lab, at the versions of its lock.

    Needs the package index, once. `lab list engines` says which engines have an environment, and
    whether it is made.
    """
    from streamlab.engines import environment
    from streamlab.engines.registry import engine

    wanted = environment.declared_environment(engine(name))
    if wanted is None:
        click.echo(f"engine {name} needs no environment of its own: it runs in the lab's")
        return EXIT_OK
    if environment.unusable_reason(name, wanted) is None:
        click.echo(f"{environment.folder(name)} is up to date")
        return EXIT_OK
    click.echo(f"making {environment.folder(name)} from {wanted.lock}", err=True)
    click.echo(environment.make(name, wanted))
    return EXIT_OK
