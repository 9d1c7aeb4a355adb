"""Connects a task to a Spark cluster, and checks that the cluster can run the task."""

import os
import socket
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark import BarrierTaskContext, SparkContext, cloudpickle
from pyspark.errors import PySparkException

from streamlab.engines.clusters import Placement
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Task
from streamlab.engines.spark import node_probe
from streamlab.engines.spark.native.compiler import COMPILER_ARCHIVE
from streamlab.engines.spark.node_probe import NodeReport
from streamlab.engines.spark.standalone import worker_processes
from streamlab.engines.spark.workloads import COMPILED, COMPILER, MASTERS, SparkOptions
from streamlab.workloads.default_folders import SHARED_VARIABLE
from streamlab.workloads.references import file_of

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 10
EXECUTORS_TIMEOUT_S = 60.0
"""Time limit for executors to start; long for loaded machines. `master_check` has already found lacking resources."""
PROBE_TIMEOUT_S = 60.0
"""Time limit of the task that inspects the nodes."""
_POLL_S = 0.1
_SCHEME = "spark://"
_KINDS = dict(zip(MASTERS, ("spark standalone", "yarn", "kubernetes"), strict=True))
_PACKAGES = ("numpy", "pandas", "pyarrow", "pyspark")
"""Packages that Python tasks need; the lab's own code travels with the task."""
_COMPILER_PACKAGES = ("llvmlite", "msgspec", "numba")
"""Further packages that tasks of compiled variants need."""


def settings_of(options: SparkOptions, master: str, workers: int) -> dict[str, str]:
    """Return the settings of a session on a cluster. On a standalone cluster, this connects to the master.

    Raises:
        EngineError: nothing listens at the master's address.
    """
    settings = {
        "spark.cores.max": str(workers),
        "spark.executor.memory": f"{options.executor_memory_mb}m",
        "spark.rpc.askTimeout": f"{ANSWER_TIMEOUT_S}s",
    }
    if not master.startswith(_SCHEME):
        return settings
    # Executors can reach the driver at the address from which the driver connects to the master.
    address = _connect(master)
    return settings | {"spark.driver.host": address, "spark.driver.bindAddress": address}


def _connect(master: str) -> str:
    """Connect to the first master that answers, and return this machine's address in the connection."""
    reasons = []
    for host, port in _addresses(master):
        try:
            with socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
    raise EngineError(
        f"no Spark master answers at {master} ({'; '.join(reasons)}); "
        "check the address, or start a cluster here: lab cluster up --engine spark"
    )


def _addresses(master: str) -> list[tuple[str, int]]:
    addresses = []
    for address in master.removeprefix(_SCHEME).split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise EngineError(f"option master is {master!r}; it must be spark://HOST:PORT")
        addresses.append((host, int(port)))
    return addresses


def master_check(options: SparkOptions, master: str, workers: int) -> Callable[[Any], None]:
    """Return a function that checks the resources of a standalone cluster.

    The function takes `SparkContext._jvm` (access to Java classes), and raises EngineError if resources are lacking.
    """

    def check(jvm: Any) -> None:
        # One of several masters is active. The others also answer, but without workers.
        if not master.startswith(_SCHEME) or len(_addresses(master)) > 1:
            return
        nodes, applications = _master_state(jvm, master)
        reason = lacking(nodes, workers, options.executor_memory_mb, applications)
        if reason is not None:
            raise EngineError(f"the Spark cluster at {master} {reason}")

    return check


Node = tuple[str, int, int, int, int]
"""A worker: its host, cores, free cores, and memory and free memory in MB."""


def lacking(
    nodes: Sequence[Node], workers: int, memory_mb: int, applications: Sequence[str]
) -> str | None:
    """Return why a cluster cannot run a task, worded to follow the cluster's name, with a remedy; None if it can."""
    total = sum(cores for _, cores, _, _, _ in nodes)
    if total < workers:
        return (
            f"has {total} cores on {len(nodes)} workers, and the task needs {workers}; "
            "use fewer workers, or add workers to the cluster"
        )
    free_cores = sum(cores for _, _, cores, _, _ in nodes)
    if free_cores < workers:
        return (
            f"has {free_cores} of {total} cores free, and the task needs {workers}: the rest belong to "
            f"{', '.join(applications) or 'another application'}; wait, or stop it"
        )
    usable = sum(cores for _, _, cores, _, free_mb in nodes if free_mb >= memory_mb)
    if usable < workers:
        memory = ", ".join(f"{host} {free_mb} MB" for host, _, _, _, free_mb in nodes)
        return (
            f"has {usable} free cores on workers with {memory_mb} MB of free memory, and the task "
            f"needs {workers} (free: {memory}); lower option executor_memory_mb"
        )
    return None


def _master_state(jvm: Any, master: str) -> tuple[list[Node], list[str]]:
    """Return the living workers of a standalone cluster, and the names of its applications."""

    def companion(name: str) -> Any:
        return jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)

    messages = "org.apache.spark.deploy.DeployMessages$"
    conf = jvm.org.apache.spark.SparkConf()
    conf.set("spark.rpc.askTimeout", f"{ANSWER_TIMEOUT_S}s")
    default = getattr(companion("org.apache.spark.SecurityManager"), "$lessinit$greater$default$3")
    security = jvm.org.apache.spark.SecurityManager(conf, jvm.scala.Option.empty(), default())
    environment = jvm.org.apache.spark.rpc.RpcEnv.create(
        "lab", _connect(master), 0, conf, security, True
    )
    try:
        host, port = _addresses(master)[0]
        address = jvm.org.apache.spark.rpc.RpcAddress(host, port)
        reference = environment.setupEndpointRef(address, "Master")
        reply = jvm.java.lang.Class.forName(f"{messages}MasterStateResponse")
        state = reference.askSync(
            companion(f"{messages}RequestMasterState"),
            companion("scala.reflect.ClassTag").apply(reply),
        )
        nodes = [
            (
                worker.host(),
                worker.cores(),
                worker.coresFree(),
                worker.memory(),
                worker.memoryFree(),
            )
            for worker in state.workers()
            if worker.isAlive()
        ]
        return nodes, [application.desc().name() for application in state.activeApps()]
    except Py4JError as error:
        java = getattr(error, "java_exception", None)
        raise EngineError(
            f"the process that listens at {master} is no Spark master of this version: {java or error}"
        ) from None
    finally:
        environment.shutdown()


def check_nodes(context: SparkContext, task: Task, master: str) -> Placement:
    """Wait for the executors, send the lab's code to them, and run a task on all of their cores.

    Raises:
        EngineError: cores are missing, or a node has other versions or does not see a file.
    """
    cores = _wait_for_executors(context, task.workers, master)
    context.addPyFile(str(_zip(task.scratch / "streamlab.zip")))
    packages = list(_PACKAGES)
    if task.variant in COMPILED:
        context.addArchive(str(_compiler_zip(task.scratch / COMPILER_ARCHIVE)))
        packages += _COMPILER_PACKAGES
    files = _files(task)
    driver_versions = node_probe.versions_here(packages)
    for report in _reports(context, task.workers, files, master, packages):
        differences = [
            f"{name} {version} (the driver has {driver_versions[name]})"
            for name, version in report.versions.items()
            if version != driver_versions[name]
        ]
        if differences:
            raise EngineError(
                f"node {report.node} of {master} has {', '.join(differences)}; install the driver's "
                "versions there, or set option python to an environment that has them"
            )
        if report.unseen:
            raise EngineError(
                f"node {report.node} of {master} does not see {report.unseen[0]}; set "
                f"{SHARED_VARIABLE} to a folder that all nodes see under one path, and put "
                "datasets and the files of workloads there"
            )
    return Placement(
        kind=next(kind for prefix, kind in _KINDS.items() if master.startswith(prefix)),
        cores=cores,
        processes=_observable(context),
    )


def _executors(context: SparkContext) -> list[tuple[str, int]]:
    """Return the host and the cores of each executor."""
    summaries = context._jsc.sc().statusStore().executorList(True)
    executors = (summaries.apply(index) for index in range(summaries.size()))
    # The address has a port only after the executor's storage has registered.
    return [
        (executor.hostPort().rsplit(":", 1)[0], executor.totalCores())
        for executor in executors
        if executor.id() != "driver"
    ]


def _wait_for_executors(context: SparkContext, workers: int, master: str) -> tuple[int, ...]:
    """Wait until executors have enough cores; return the number of cores on each node, largest first."""
    deadline = time.monotonic() + EXECUTORS_TIMEOUT_S
    while True:
        executors = _executors(context)
        total = sum(cores for _, cores in executors)
        if total >= workers:
            break
        if time.monotonic() > deadline:
            raise EngineError(
                f"the cluster at {master} gave {total} of {workers} cores within "
                f"{EXECUTORS_TIMEOUT_S:g} s; see the logs of its workers: an executor may not "
                "start there, or may not reach this machine"
            )
        time.sleep(_POLL_S)
    nodes: dict[str, int] = {}
    for host, cores in executors:
        nodes[host] = nodes.get(host, 0) + cores
    return tuple(sorted(nodes.values(), reverse=True))


def _reports(
    context: SparkContext,
    workers: int,
    files: Sequence[tuple[str, int]],
    master: str,
    packages: Sequence[str],
) -> list[NodeReport]:
    """Return a report from each core. All tasks run at the same time, so each node runs at least one."""
    probe = node_probe.inspect_node

    def inspect(rows: object) -> list[Mapping[str, Any]]:
        BarrierTaskContext.get().barrier()
        return [probe(packages, files)]

    cloudpickle.register_pickle_by_value(node_probe)  # type: ignore[no-untyped-call]  # pyspark's gap
    timer = threading.Timer(PROBE_TIMEOUT_S, context.cancelAllJobs)
    timer.start()
    try:
        rows = context.parallelize(range(workers), workers).barrier().mapPartitions(inspect)
        return [NodeReport(**row) for row in rows.collect()]
    except (PySparkException, Py4JError) as error:
        raise EngineError(
            f"the cluster at {master} cannot run the lab's Python tasks: {_reason(str(error))}; "
            "option python names the Python of its nodes"
        ) from None
    finally:
        timer.cancel()
        cloudpickle.unregister_pickle_by_value(node_probe)  # type: ignore[no-untyped-call]  # pyspark's gap


def _reason(message: str) -> str:
    """Return the most informative line of an error in a Python task."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("at ")]  # Leave out Java's stack trace.
    for phrase in ("Cannot run program", "Error"):
        for line in reversed(lines):
            if phrase in line:
                return line[:500]
    return (lines or ["no reason was reported"])[0][:500]


def _files(task: Task) -> list[tuple[str, int]]:
    """Return the files that nodes must see, with their sizes."""
    probe = task.scratch / "visible"
    probe.write_text("1", encoding="ascii")
    source = file_of(task.workload.registry_name)
    streams = (path.absolute() for stream in task.dataset.streams for path in stream.paths)
    paths = [probe, *streams, *([] if source is None else [source.absolute()])]
    return [(str(path), path.stat().st_size) for path in paths]


def _zip(path: Path) -> Path:
    """Write the lab's Python code and entry points as a zip file for the tasks' `sys.path`."""
    root = _folder("streamlab")
    distribution = metadata.distribution("stream-lab")
    name = f"stream_lab-{distribution.version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for file in (root / "__init__.py", root / "engine.py"):
            archive.write(file, f"streamlab/{file.name}")
        for package in ("engines", "workloads"):
            folder = _folder(f"streamlab.{package}")
            for file in sorted(folder.rglob("*.py")):
                archive.write(file, str(Path("streamlab", package, file.relative_to(folder))))
        for text in ("METADATA", "entry_points.txt"):
            archive.writestr(f"{name}/{text}", distribution.read_text(text) or "")
    return path


def _compiler_zip(path: Path) -> Path:
    """Write the engine that compiles programs, with its extension module, as an archive that nodes unpack."""
    folder = _folder(f"streamlab.engines.{COMPILER}")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*.py")):
            archive.write(file, str(file.relative_to(folder)))
        core = find_spec(f"streamlab.engines.{COMPILER}._core")
        assert core is not None and core.origin is not None
        archive.write(core.origin, Path(core.origin).name)
    return path


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _observable(context: SparkContext) -> tuple[int, ...]:
    """Return the ids of this machine's processes below which all executors run; empty if some run elsewhere."""
    parents = worker_processes(context.applicationId)
    if len(parents) < len(_executors(context)):
        return ()
    return tuple(sorted({parent for parent in parents.values() if parent != os.getpid()}))
