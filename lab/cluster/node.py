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
    """Replace this process by the daemon of a host; its log is the standard output.

    Args:
        name: of the engine, or of the broker.
        host: of this node.
        hosts: of all nodes, the coordinating one first.
        ports: of the first host, as in `ClusterPlan`.
        cores: that each worker offers.
        memory_mb: that each worker offers to the engine's processes; of a broker, its heap.

    Raises:
        ClusterError: the engine has no clusters, or `hosts` lacks the host or names it twice.
        EngineError: the engine cannot start here.
    """
    engine = cluster_engine(name)
    if hosts.count(host) != 1:
        raise ClusterError(
            f"--hosts {','.join(hosts)} names this node's host {host} {hosts.count(host)} times, "
            "and must do so once; set --host to one of them"
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
    daemon = next((each for each in engine.cluster_daemons(plan) if each.host == host), None)
    if daemon is None:
        raise ClusterError(f"{name} runs one process, on {hosts[0]}; --hosts may name no other")
    os.chdir(folder)
    os.execvpe(daemon.command[0], daemon.command, environment() | dict(daemon.environment))
