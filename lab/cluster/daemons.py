"""Starts the daemons of a cluster, waits for its workers, and stops all processes.

Each daemon leads its own session, so that stopping finds every process of the daemon, even if the daemon has died.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from streamlab.engines.broker.broker import BROKER
from streamlab.engines.broker.broker import NAME as BROKER_NAME
from streamlab.engines.clusters import ClusterEngine, ClusterPlan, ClusterState, Daemon
from streamlab.engines.protocol import Engine
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.cluster.network import (
    Network,
    create_namespaces,
    free_ports,
    loopback,
    remove_namespaces,
)
from streamlab.lab.cluster.record import (
    ClusterRecord,
    StartedDaemon,
    folder_of,
    read_record,
    write_record,
)
from streamlab.lab.errors import ClusterError
from streamlab.lab.host.git import environment
from streamlab.lab.isolate.process import last_lines

START_TIMEOUT_S = 180.0
"""Time limit for the start of all daemons, in seconds."""
MAX_STARTS = 3
"""Limit of attempts to start a daemon; on a loaded machine, the first attempts may fail."""
STOP_TIMEOUT_S = 10.0
"""Seconds that processes have to end after SIGTERM, and again after SIGKILL."""
LOOPBACK, NAMESPACES = "loopback", "namespaces"
_LOOK_S = 0.2
"""Seconds between two looks at the cluster's state while it starts."""


def cluster_engine(name: str) -> ClusterEngine:
    """Return an engine whose clusters can be started here, or the broker.

    Raises:
        ClusterError: the engine has no clusters.
    """
    if name == BROKER_NAME:
        return BROKER
    engine: Engine = find_engine(name)
    if not isinstance(engine, ClusterEngine):
        raise ClusterError(f"engine {name} has no clusters that the lab can start")
    return engine


def stop_command(name: str) -> str:
    """Return the command that stops the cluster of an engine, or the broker."""
    return "lab broker down" if name == BROKER_NAME else f"lab cluster down --engine {name}"


def start_cluster(
    name: str, *, workers: int, cores: int, memory_mb: int, network: str
) -> ClusterRecord:
    """Start a cluster of an engine and wait until all workers have joined.

    Args:
        name: name of the engine, or of the broker.
        workers: number of worker processes.
        cores: number of cores that each worker offers.
        memory_mb: memory that each worker offers to the engine's processes, in MB.
        network: LOOPBACK or NAMESPACES.

    Raises:
        ClusterError: the engine already has a cluster, or a daemon does not start; then no process stays behind.
        EngineError: the engine cannot start here.
    """
    engine = cluster_engine(name)
    old_record = read_record(name)
    if old_record is not None and not any(map(is_alive, old_record.daemons)):
        stop_cluster(old_record)  # all its daemons were killed
    elif old_record is not None:
        raise ClusterError(
            f"a cluster of {name} exists, at {old_record.address}; stop it first: {stop_command(name)}"
        )
    folder = folder_of(name)
    shutil.rmtree(folder, ignore_errors=True)  # a killed attempt may have left this folder
    folder.mkdir(parents=True)
    addresses = loopback(workers) if network == LOOPBACK else create_namespaces(name, workers)
    plan = ClusterPlan(
        folder=folder,
        host=addresses.host,
        ports=free_ports(addresses.host),
        worker_hosts=addresses.workers,
        cores=cores,
        memory_mb=memory_mb,
    )
    record = ClusterRecord(
        engine=name,
        address=engine.cluster_address(plan),
        plan=plan,
        namespaces=addresses.namespaces,
    )
    try:
        write_record(record)
        return _start(engine, record, addresses)
    except BaseException:
        stop_cluster(read_record(name) or record)
        raise


def _start(engine: ClusterEngine, record: ClusterRecord, network: Network) -> ClusterRecord:
    """Start the coordinator, then the workers; restart daemons that die, until all workers have joined."""
    coordinator, *workers = engine.cluster_daemons(record.plan)
    deadline = time.monotonic() + START_TIMEOUT_S
    starts: dict[str, int] = {}

    def begin(record: ClusterRecord, daemon: Daemon) -> ClusterRecord:
        starts[daemon.name] = starts.get(daemon.name, 0) + 1
        return _begin(record, daemon, network)

    def wait(record: ClusterRecord, is_reached: Callable[[ClusterState], bool]) -> ClusterRecord:
        while (state := engine.cluster_state(record.plan)) is None or not is_reached(state):
            for daemon in (coordinator, *workers):
                process = next(
                    (candidate for candidate in record.daemons if candidate.name == daemon.name),
                    None,
                )
                if process is not None and not is_alive(process):
                    if starts[daemon.name] == MAX_STARTS:
                        raise _failure(record, daemon, f"ended {MAX_STARTS} times as it started")
                    record = begin(record, daemon)
            if time.monotonic() > deadline:
                daemon = coordinator if state is None else workers[-1]
                raise _failure(record, daemon, f"was not ready within {START_TIMEOUT_S:g} s")
            time.sleep(_LOOK_S)
        return record

    record = wait(begin(record, coordinator), lambda state: True)
    for daemon in workers:
        record = begin(record, daemon)
    return wait(record, lambda state: state.workers == len(workers))


def _start_daemon(folder: Path, daemon: Daemon, network: Network) -> StartedDaemon:
    command: Sequence[str] = daemon.command
    if network.namespaces and daemon.host in network.workers:
        namespace = network.namespaces[network.workers.index(daemon.host)]
        command = ("ip", "netns", "exec", namespace, *command)
    with _log(folder, daemon).open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment() | dict(daemon.environment),
            cwd=folder,
        )
    created_s = psutil.Process(process.pid).create_time()
    return StartedDaemon(name=daemon.name, pid=process.pid, started=created_s)


def _log(folder: Path, daemon: Daemon) -> Path:
    return folder / f"{daemon.name}.log"


def _failure(record: ClusterRecord, daemon: Daemon, problem: str) -> ClusterError:
    lines = " / ".join(last_lines(_log(record.plan.folder, daemon), 3)) or "nothing"
    return ClusterError(
        f"the {daemon.name} of the cluster of {record.engine} {problem}; its log ends with: {lines}"
    )


def is_alive(daemon: StartedDaemon) -> bool:
    """Return whether a daemon's process runs."""
    try:
        process = psutil.Process(daemon.pid)
        return process.create_time() == daemon.started and _is_running(process)
    except psutil.Error:
        return False


def _is_running(process: psutil.Process) -> bool:
    """Return whether a process runs; a process that has ended but waits to be reaped does not run."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def stop_cluster(record: ClusterRecord) -> None:
    """End all processes of a cluster, and remove its namespaces and its folder.

    Raises:
        ClusterError: a process cannot be ended.
    """
    for force in (False, True):
        processes = _processes(record.daemons)
        for process in processes:
            with suppress(psutil.Error):
                process.kill() if force else process.terminate()
        _, survivors = psutil.wait_procs(processes, timeout=STOP_TIMEOUT_S)
    survivors = [process for process in survivors if _is_running(process)]
    if survivors:
        pids = ", ".join(str(process.pid) for process in survivors)
        raise ClusterError(f"processes of the cluster of {record.engine} cannot be ended: {pids}")
    remove_namespaces(record.engine, record.namespaces)
    shutil.rmtree(record.plan.folder, ignore_errors=True)


def kill_worker(record: ClusterRecord) -> Daemon:
    """Kill the last worker of a cluster with all processes that it started, and return its daemon.

    Raises:
        EngineError: the engine cannot start here.
    """
    daemon = cluster_engine(record.engine).cluster_daemons(record.plan)[-1]
    for process in _processes(
        [candidate for candidate in record.daemons if candidate.name == daemon.name]
    ):
        with suppress(psutil.Error):
            process.kill()
    return daemon


def restart_daemon(record: ClusterRecord, daemon: Daemon) -> ClusterRecord:
    """Start a daemon that has ended, and return the cluster's new record."""
    hosts = record.plan.worker_hosts
    network = Network(host=record.plan.host, workers=hosts, namespaces=record.namespaces)
    return _begin(record, daemon, network)


def _begin(record: ClusterRecord, daemon: Daemon, network: Network) -> ClusterRecord:
    new_daemon = _start_daemon(record.plan.folder, daemon, network)
    other_daemons = (candidate for candidate in record.daemons if candidate.name != daemon.name)
    record = msgspec.structs.replace(record, daemons=(*other_daemons, new_daemon))
    write_record(record)
    return record


def _processes(daemons: Sequence[StartedDaemon]) -> list[psutil.Process]:
    """Return the processes in the sessions of daemons."""
    begin_times = {daemon.pid: daemon.started for daemon in daemons}
    matches = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            session = os.getsid(process.pid)
            # An older process with this session ID belongs to an earlier session.
            if session in begin_times and process.create_time() >= begin_times[session]:
                matches.append(process)
    return matches
