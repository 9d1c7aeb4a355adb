"""Defines how an engine describes a cluster of processes, and the nodes on which a task runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A cluster to start.

    Attributes:
        folder: an existing folder for logs and scratch files.
        host: the address of the coordinating daemon.
        ports: two free ports of `host`, for the service and for its web page.
        worker_hosts: the address of each worker.
        cores: cores of each worker.
        memory_mb: memory of each worker for the engine's own processes.
    """

    folder: Path
    host: str
    ports: tuple[int, int]
    worker_hosts: tuple[str, ...]
    cores: int
    memory_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A process of a cluster.

    Attributes:
        name: a name that is unique in the cluster; the log has it too.
        host: the address at which it runs.
        command: the program and its arguments.
        environment: environment variables in addition to the lab's own.
    """

    name: str
    host: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """The living workers of a cluster, and their load.

    Attributes:
        workers: number of living workers.
        cores: number of cores of all workers.
        used_cores: number of cores allocated to applications.
        applications: number of running applications.
    """

    workers: int
    cores: int
    used_cores: int
    applications: int


@runtime_checkable
class ClusterEngine(Protocol):
    """Extends `Engine` for engines whose clusters `lab cluster` can start."""

    cluster_option: str
    """The option that takes a cluster's address."""

    def cluster_daemons(self, plan: ClusterPlan) -> tuple[Daemon, ...]:
        """Return the processes of a cluster, the coordinating one first.

        Raises:
            EngineError: the engine cannot start here.
        """

    def cluster_address(self, plan: ClusterPlan) -> str:
        """Return the address that tasks connect to."""

    def cluster_state(self, plan: ClusterPlan) -> ClusterState | None:
        """Return the state of a started cluster; None if it does not answer yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a task runs.

    Attributes:
        kind: kind of the cluster, e.g. `spark standalone`.
        cores: number of the task's cores on each node, largest first.
        processes: ids of processes on this machine whose process trees include all workers of the task; empty if the
            workers cannot be observed.
    """

    kind: str
    cores: tuple[int, ...]
    processes: tuple[int, ...] = ()


@runtime_checkable
class ClusterPrepared(Protocol):
    """Extends `Prepared` for tasks that may run on a cluster."""

    def placement(self) -> Placement | None:
        """Return where the prepared task runs; None if it runs in child processes of the trial."""
