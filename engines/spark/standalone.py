"""Describes a standalone cluster of Spark: the commands of its daemons, and its state."""

import json
from importlib.util import find_spec
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import psutil

from streamlab.engines.clusters import ClusterPlan, ClusterState, Daemon
from streamlab.engines.errors import EngineError
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import find_java
from streamlab.workloads.datasets.spark_session import spark_refusal

DAEMON_MEMORY = "256m"
_STATE_TIMEOUT_S = 2.0


def address(plan: ClusterPlan) -> str:
    """Return the master's address."""
    return f"spark://{plan.host}:{plan.ports[0]}"


def daemons(plan: ClusterPlan) -> tuple[Daemon, ...]:
    """Return the commands of the master and the workers, which run in the foreground.

    Raises:
        EngineError: PySpark or Java was not found.
    """
    refusal, package = spark_refusal(), find_spec("pyspark")
    if refusal is not None or package is None or package.origin is None:
        raise EngineError(f"cannot start a cluster of spark: {refusal}")
    try:
        java = find_java().path
    except DatasetError as error:
        raise EngineError(f"cannot start a cluster of spark: {error}") from error
    empty = plan.folder / "conf"
    empty.mkdir(exist_ok=True)  # The machine's own configuration must not change the cluster.
    home = Path(package.origin).parent
    environment = {
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(empty),
        "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
    }
    spark_class = str(home / "bin" / "spark-class")
    port, web_port = map(str, plan.ports)
    master = Daemon(
        name="master",
        host=plan.host,
        command=(
            *(spark_class, "org.apache.spark.deploy.master.Master"),
            *("--host", plan.host, "--port", port, "--webui-port", web_port),
        ),
        environment=environment | {"SPARK_LOCAL_IP": plan.host},
    )
    workers = (
        Daemon(
            name=f"worker-{number}",
            host=host,
            command=(
                *(spark_class, "org.apache.spark.deploy.worker.Worker", "--host", host),
                *("-c", str(plan.cores), "-m", f"{plan.memory_mb}m", "--webui-port", "0"),
                *("-d", str(plan.folder / f"work-{number}"), address(plan)),
            ),
            environment=environment
            | {
                "SPARK_LOCAL_IP": host,
                "SPARK_LOCAL_DIRS": str(plan.folder / f"scratch-{number}"),
            },
        )
        for number, host in enumerate(plan.worker_hosts, start=1)
    )
    return (master, *workers)


def state(plan: ClusterPlan) -> ClusterState | None:
    """Return the state that the master's web page reports; None if it does not answer."""
    page = f"http://{plan.host}:{plan.ports[1]}/json/"
    try:
        with build_opener(ProxyHandler({})).open(page, timeout=_STATE_TIMEOUT_S) as reply:
            content = json.load(reply)
    except (OSError, ValueError):
        return None
    return ClusterState(
        workers=content["aliveworkers"],
        cores=content["cores"],
        used_cores=content["coresused"],
        applications=len(content["activeapps"]),
    )


def worker_processes(application: str) -> dict[int, int]:
    """Return the process id of each executor of an application on this machine, with its worker's process id.

    Args:
        application: id of the application at the master.
    """
    parents = {}
    for process in psutil.process_iter(["cmdline", "ppid"]):
        words = process.info["cmdline"] or ()
        if application in words and any(
            word.endswith("CoarseGrainedExecutorBackend") for word in words
        ):
            parents[process.pid] = process.info["ppid"]
    return parents
