"""Implements `lab cluster`."""

import socket
from typing import NoReturn

from streamlab.engines.broker.broker import NAME as BROKER
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo
from streamlab.lab.cluster.daemons import cluster_engine, is_alive, start_cluster, stop_cluster
from streamlab.lab.cluster.node import run_node
from streamlab.lab.cluster.record import read_record, recorded_engines
from streamlab.lab.errors import ClusterError


def cluster_up(engine: str, workers: int, cores: int, memory_mb: int, network: str) -> int:
    """Start a cluster."""
    record = start_cluster(
        engine, workers=workers, cores=cores, memory_mb=memory_mb, network=network
    )
    option = cluster_engine(engine).cluster_option
    echo(
        f"{workers} workers of {cores} cores and {memory_mb} MB each; "
        f"use it with --option {engine}.{option}={record.address}",
        err=True,
    )
    echo(record.address)
    return EXIT_OK


def cluster_status() -> int:
    """Show all clusters."""
    engines = [name for name in recorded_engines() if name != BROKER]
    for name in engines:
        record = read_record(name)
        assert record is not None
        state = cluster_engine(name).cluster_state(record.plan)
        dead = [daemon.name for daemon in record.daemons if not is_alive(daemon)]
        size = len(record.plan.worker_hosts)
        parts = [
            f"{name}  {record.address}",
            "does not answer"
            if state is None
            else f"{state.workers} of {size} workers, {state.cores} cores, "
            f"{state.applications} applications",
            *([f"ended: {', '.join(dead)}; see {record.plan.folder}"] if dead else []),
        ]
        echo("  ".join(parts))
    if not engines:
        echo("no cluster; start one: lab cluster up --engine spark")
    return EXIT_OK


def cluster_down(engine: str) -> int:
    """Stop a cluster."""
    record = read_record(engine)
    if record is None:
        raise ClusterError(f"no cluster of {engine} was started; see lab cluster status")
    stop_cluster(record)
    echo(f"stopped the cluster of {engine}, at {record.address}", err=True)
    return EXIT_OK


def cluster_node(
    engine: str,
    hosts: str,
    host: str | None,
    ports: tuple[int, int],
    cores: int,
    memory_mb: int,
) -> NoReturn:
    """Become the process of a cluster's node."""
    run_node(
        engine,
        host=host or socket.gethostname(),
        hosts=tuple(hosts.split(",")),
        ports=ports,
        cores=cores,
        memory_mb=memory_mb,
    )
