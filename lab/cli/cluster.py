"""Declares `lab cluster`: start, inspect and stop clusters on this machine, and run one node of a larger one."""

import click

from streamlab.lab.cli.completion import ENGINES
from streamlab.lab.cli.output import LazyCommand

_engine = click.option("--engine", required=True, metavar="NAME", help="The engine.", **ENGINES)
_cores = click.option(
    "--cores",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of cores of each worker.",
)
_memory = click.option(
    "--memory-mb",
    type=click.IntRange(min=512),
    default=1536,
    show_default=True,
    help="Memory of each worker, or heap of the broker, in MB.",
)


@click.group(short_help="Start and stop a cluster of an engine on this machine.")
def cluster() -> None:
    """Start, inspect and stop a cluster of an engine: real separate processes on this machine."""


@cluster.command("up", cls=LazyCommand)
@_engine
@click.option(
    "--workers",
    "-w",
    type=click.IntRange(1, 250),
    default=2,
    show_default=True,
    help="Number of workers.",
)
@_cores
@_memory
@click.option(
    "--network",
    type=click.Choice(("loopback", "namespaces")),
    default="loopback",
    show_default=True,
    help="Addresses of the workers: 127.0.0.2 and up, or network namespaces, which need root.",
)
def cluster_up() -> None:
    """Start a cluster and print its address, the last line of the output.

    The cluster's logs and scratch files lie in one folder (environment: LAB_CLUSTERS) until `lab
    cluster down`. The engine's option for this address is `master` on Spark and `jobmanager` on Flink:

    lab run event_window --engine flink --option flink.jobmanager=ADDRESS
    """


@cluster.command("status", cls=LazyCommand)
def cluster_status() -> None:
    """Show the clusters that were started, and their workers."""


@cluster.command("down", cls=LazyCommand)
@_engine
def cluster_down() -> None:
    """End all processes of a cluster, and remove its folder."""


@cluster.command("node", cls=LazyCommand)
@_engine
@click.option(
    "--hosts",
    required=True,
    metavar="HOST,...",
    help="The coordinating host and the host of each worker; the same on all nodes.",
)
@click.option("--host", help="This node's host, one of --hosts; default: the machine's host name.")
@click.option(
    "--ports",
    type=(click.IntRange(1, 65535), click.IntRange(1, 65535)),
    required=True,
    metavar="SERVICE WEB",
    help="Two ports on the coordinating host: the service, then the web page (Kafka: the controller).",
)
@_cores
@_memory
def cluster_node() -> None:
    """Run this machine's process of a cluster over several machines or containers, until it is stopped.

    The first of --hosts coordinates, and each other host has a worker. --engine kafka runs a broker.

    lab cluster node --engine spark --hosts master,worker-1,worker-2 --ports 7077 8080
    """
