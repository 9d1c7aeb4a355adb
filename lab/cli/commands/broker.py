"""Implements `lab broker`."""

from streamlab.engines.broker.broker import BROKER, NAME
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo
from streamlab.lab.cluster.daemons import LOOPBACK, is_alive, start_cluster, stop_cluster
from streamlab.lab.cluster.record import read_record
from streamlab.lab.errors import ClusterError


def broker_up(memory_mb: int) -> int:
    """Start the broker."""
    record = start_cluster(NAME, workers=0, cores=1, memory_mb=memory_mb, network=LOOPBACK)
    echo(f"use it with --option multicore.broker={record.address}", err=True)
    echo(record.address)
    return EXIT_OK


def broker_status() -> int:
    """Show the broker."""
    record = read_record(NAME)
    if record is None:
        echo("no broker; start one: lab broker up")
        return EXIT_OK
    has_answered = BROKER.cluster_state(record.plan) is not None
    parts = [
        f"{NAME}  {record.address}",
        "answers" if has_answered else "does not answer",
        *([] if all(map(is_alive, record.daemons)) else [f"ended; see {record.plan.folder}"]),
    ]
    echo("  ".join(parts))
    return EXIT_OK


def broker_down() -> int:
    """Stop the broker."""
    record = read_record(NAME)
    if record is None:
        raise ClusterError("no broker was started; see lab broker status")
    stop_cluster(record)
    echo(f"stopped the broker at {record.address}", err=True)
    return EXIT_OK
