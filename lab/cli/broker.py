"""Declares `lab broker`: start, inspect and stop a broker on this machine."""

import click

from streamlab.lab.cli.output import LazyCommand


@click.group(short_help="Start and stop a Kafka broker on this machine.")
def broker() -> None:
    """Start, inspect and stop a broker, from which engines read their input."""


@broker.command("up", cls=LazyCommand)
@click.option(
    "--memory-mb",
    type=click.IntRange(min=256),
    default=768,
    show_default=True,
    help="Size of the broker's heap, in MB.",
)
def broker_up() -> None:
    """Start a Kafka broker and print its address, the last line of the output.

    Run `lab environment kafka` once before. The broker's logs and data lie in one folder
    (environment: LAB_CLUSTERS) until `lab broker down`. Engines read their input from the broker with
    the option `broker`:

    lab run event_window --engine multicore --option multicore.broker=ADDRESS
    """


@broker.command("status", cls=LazyCommand)
def broker_status() -> None:
    """Show whether the broker answers."""


@broker.command("down", cls=LazyCommand)
def broker_down() -> None:
    """End the broker, and remove its folder with all topics."""
