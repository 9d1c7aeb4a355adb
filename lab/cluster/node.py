"""Runs one node of a cluster over several machines or containers.

Every node gets the same plan and finds its daemon by its host, so that all containers share one command.
"""

import os
from typing import NoReturn

from streamlab.engines.clusters import ClusterPlan
from streamlab.lab.cluster.daemons import cluster_engine
from streamlab.lab.cluster.record import folder_of
from streamlab.lab.errors import ClusterError
from streamlab.lab.host.git import environment


def run_node(
    name: str,
    *,
    host: str,
    hosts: tuple[str, ...],
    ports: tuple[int, int],
    cores: int,
    memory_mb: int,
) -> NoReturn:
    """Replace this process by the daemon of a host; the daemon logs to standard output.

    Args:
        name: name of the engine, or of the broker.
        host: host of this node.
        hosts: hosts of all nodes, the coordinator's first.
        ports: ports of the first host, as in `ClusterPlan`.
        cores: number of cores of each worker.
        memory_mb: memory of each worker for the engine's processes; for a broker, its heap.

    Raises:
        ClusterError: the engine has no clusters or no daemon for this host, or `hosts` does not name it exactly once.
        EngineError: the engine cannot start here.
    """
    engine = cluster_engine(name)
    if hosts.count(host) != 1:
        raise ClusterError(
            f"--hosts {','.join(hosts)} names this node's host {host} {hosts.count(host)} times; "
            "list each host once, and set --host to one of them"
        )
    folder = folder_of(f"{name}-node") / host
    folder.mkdir(parents=True, exist_ok=True)
    plan = ClusterPlan(
        folder=folder,
        host=hosts[0],
        ports=ports,
        worker_hosts=hosts[1:],
        cores=cores,
        memory_mb=memory_mb,
    )
    daemon = next(
        (candidate for candidate in engine.cluster_daemons(plan) if candidate.host == host), None
    )
    if daemon is None:
        raise ClusterError(
            f"{name} runs a single process, on the first host {hosts[0]}, and none on {host}; "
            f"set --hosts to {hosts[0]} only"
        )
    os.chdir(folder)
    os.execvpe(daemon.command[0], daemon.command, environment() | dict(daemon.environment))
