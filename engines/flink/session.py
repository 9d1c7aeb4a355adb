"""Describes a session cluster of Flink: the commands of its daemons, and what its job manager reports."""

import json
import re
import uuid
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import psutil

from streamlab.engines import environment
from streamlab.engines.clusters import ClusterPlan, ClusterState, Daemon
from streamlab.engines.command_process import find_engine_java
from streamlab.engines.errors import EngineError
from streamlab.engines.flink.build import ENVIRONMENT, flink_class_path
from streamlab.engines.flink.process import java_flags

REST_TIMEOUT_S = 5.0
JOB_MANAGER_HEAP_MB = 256
LEAST_MB = 768
"""Least memory of a worker: 544 MB for all parts but the heap, and 224 MB of heap."""
NO_MANAGER = "the process that listens at {} is no Flink job manager"
_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_WORKER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_ID = "taskmanager.resource-id="
_CLASSES_MB, _STACKS_MB, _OFF_HEAP_MB, _FRAMEWORK_MB = 192, 128, 64, 64
"""Parts of a task manager's memory: class metadata, stacks and compiled code, Flink's off-heap and heap memory."""


def address(plan: ClusterPlan) -> str:
    """Return the address of the job manager's REST service."""
    return f"{plan.host}:{plan.ports[1]}"


def daemons(plan: ClusterPlan) -> tuple[Daemon, ...]:
    """Return the commands of the job manager and the task managers, which run in the foreground.

    Raises:
        EngineError: Flink's environment or Java is missing, or the workers have too little memory.
    """
    reason = environment.unusable_reason("flink", ENVIRONMENT)
    if reason is not None:
        raise EngineError(reason)
    if plan.memory_mb < LEAST_MB:
        raise EngineError(
            f"a worker of flink needs at least {LEAST_MB} MB, got {plan.memory_mb}; set --memory-mb"
        )
    java = str(find_engine_java("flink").path / "bin" / "java")
    class_path = flink_class_path(environment.folder("flink"))
    configuration = plan.folder / "conf"
    configuration.mkdir(exist_ok=True)
    _write_configuration(plan, configuration / "config.yaml")

    def daemon(
        name: str,
        host: str,
        main: str,
        heap_mb: int,
        direct_mb: int,
        specific: Mapping[str, object],
    ) -> Daemon:
        scratch = plan.folder / f"scratch-{name}"
        scratch.mkdir(exist_ok=True)
        settings = {"io.tmp.dirs": scratch, **specific}
        return Daemon(
            name=name,
            host=host,
            command=(
                *(java, *java_flags(heap_mb=heap_mb, direct_mb=direct_mb)),
                *(f"-Djava.io.tmpdir={scratch}", "-cp", class_path, main),
                *("--configDir", str(configuration)),
                *(word for key, value in settings.items() for word in ("-D", f"{key}={value}")),
            ),
        )

    bound = {"jobmanager.bind-host": plan.host, "rest.bind-address": plan.host}
    manager = daemon("jobmanager", plan.host, _MANAGER, JOB_MANAGER_HEAP_MB, 128, bound)
    network_mb, managed_mb = max(64, plan.memory_mb // 16), max(32, plan.memory_mb // 8)
    non_heap_mb = _CLASSES_MB + _STACKS_MB + _OFF_HEAP_MB + network_mb + managed_mb
    heap_mb = plan.memory_mb - non_heap_mb
    memory = {
        "taskmanager.memory.framework.heap.size": f"{_FRAMEWORK_MB}m",
        "taskmanager.memory.framework.off-heap.size": f"{_OFF_HEAP_MB}m",
        "taskmanager.memory.jvm-metaspace.size": f"{_CLASSES_MB}m",
        "taskmanager.memory.jvm-overhead.max": f"{_STACKS_MB}m",
        "taskmanager.memory.jvm-overhead.min": f"{_STACKS_MB}m",
        "taskmanager.memory.managed.size": f"{managed_mb}m",
        "taskmanager.memory.network.max": f"{network_mb}m",
        "taskmanager.memory.network.min": f"{network_mb}m",
        "taskmanager.memory.task.heap.size": f"{heap_mb - _FRAMEWORK_MB}m",
        "taskmanager.memory.task.off-heap.size": "0m",
    }
    workers = []
    for number, host in enumerate(plan.worker_hosts, start=1):
        specific = {
            "taskmanager.host": host,
            "taskmanager.bind-host": host,
            "taskmanager.cpu.cores": float(plan.cores),
            "taskmanager.numberOfTaskSlots": plan.cores,
            # The id identifies the process on this machine (`worker_processes`).
            "taskmanager.resource-id": f"worker-{number}-{uuid.uuid4().hex}",
            **memory,
        }
        direct_mb = _OFF_HEAP_MB + network_mb
        name = f"taskmanager-{number}"
        workers.append(daemon(name, host, _WORKER, heap_mb, direct_mb, specific))
    return (manager, *workers)


def _write_configuration(plan: ClusterPlan, path: Path) -> None:
    settings = {
        "jobmanager.rpc.address": plan.host,
        "jobmanager.rpc.port": plan.ports[0],
        "rest.address": plan.host,
        "rest.port": plan.ports[1],
        "jobmanager.memory.heap.size": f"{JOB_MANAGER_HEAP_MB}m",
        # With the default, Flink would take half a minute to notice a lost worker, which would slow recovery tests.
        "heartbeat.interval": "2 s",
        "heartbeat.timeout": "20 s",
        # A job's page may be this old; the lab reads it to wait for the job's tasks.
        "web.refresh-interval": "50 ms",
    }
    text = "".join(f"{key}: {value}\n" for key, value in settings.items())
    path.write_text(text, encoding="utf-8")


def state(plan: ClusterPlan) -> ClusterState | None:
    """Return the state that the job manager reports; None if it does not answer."""
    try:
        overview = read(address(plan), "overview")
    except EngineError:
        return None
    return ClusterState(
        workers=overview["taskmanagers"],
        cores=overview["slots-total"],
        used_cores=overview["slots-total"] - overview["slots-available"],
        applications=overview["jobs-running"],
    )


def read(jobmanager: str, page: str) -> Any:
    """Return a page of a job manager's REST service.

    Raises:
        EngineError: nothing answers, or another program than Flink does.
    """
    try:
        reply = build_opener(ProxyHandler({})).open(
            f"http://{jobmanager}/{page}", timeout=REST_TIMEOUT_S
        )
        with reply:
            return json.load(reply)
    except (HTTPError, HTTPException, ValueError) as error:
        raise EngineError(f"{NO_MANAGER.format(jobmanager)}: {error}") from None
    except OSError as error:
        raise EngineError(
            f"no Flink job manager answers at {jobmanager} ({getattr(error, 'reason', error)}); "
            "check the address, or start a cluster here: lab cluster up --engine flink"
        ) from None


def host_of(task_manager: Mapping[str, object]) -> str:
    """Return the address of a task manager that the job manager reports."""
    match = re.search(r"@(.+):\d+/", str(task_manager["path"]))
    return match[1] if match else str(task_manager["id"])


def worker_processes(ids: set[str]) -> tuple[int, ...]:
    """Return the ids of this machine's processes that run task managers with these resource ids."""
    pids = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        if _WORKER in words and any(word.removeprefix(_ID) in ids for word in words):
            pids.append(process.pid)
    return tuple(sorted(pids))
