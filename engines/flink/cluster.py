"""Checks that a session cluster can run a task, and reports on which nodes the task runs."""

import zipfile
from collections import Counter
from pathlib import Path

from streamlab.engines import environment
from streamlab.engines.clusters import Placement
from streamlab.engines.errors import EngineError
from streamlab.engines.flink.build import classes
from streamlab.engines.flink.session import NO_MANAGER, host_of, read, worker_processes

KIND = "flink session"


def check(jobmanager: str, workers: int) -> None:
    """Check that a cluster answers, has this machine's version of Flink, and has enough free slots.

    Raises:
        EngineError: the cluster lacks something; the message names it and the remedy.
    """
    config = read(jobmanager, "config")
    actual = config.get("flink-version") if isinstance(config, dict) else None
    if actual is None:
        raise EngineError(NO_MANAGER.format(jobmanager))
    expected = environment.versions("flink", ("apache-flink-libraries",)).split()[-1]
    if actual != expected:
        raise EngineError(
            f"the Flink cluster at {jobmanager} has version {actual}, and the lab runs {expected}; "
            "install this version there"
        )
    nodes = read(jobmanager, "taskmanagers")["taskmanagers"]
    slots = sum(node["slotsNumber"] for node in nodes)
    free_slots = sum(node["freeSlots"] for node in nodes)
    jobs = [
        job["name"]
        for job in read(jobmanager, "jobs/overview")["jobs"]
        if job["state"] not in ("FINISHED", "CANCELED", "FAILED")
    ]
    reason = lacking(slots, free_slots, len(nodes), workers, jobs)
    if reason is not None:
        raise EngineError(f"the Flink cluster at {jobmanager} {reason}")


def lacking(slots: int, free: int, nodes: int, workers: int, jobs: list[str]) -> str | None:
    """Return why a cluster cannot run a task, worded to follow the cluster's name, with a remedy; None if it can."""
    if slots < workers:
        return (
            f"has {slots} slots on {nodes} task managers, and the task needs {workers}; "
            "use fewer workers, or add task managers to the cluster"
        )
    if free < workers:
        return (
            f"has {free} of {slots} slots free, and the task needs {workers}: the rest belong to "
            f"{', '.join(jobs) or 'another job'}; wait, or cancel it"
        )
    return None


def placement(jobmanager: str, job: str) -> Placement:
    """Return the nodes that have slots of a job."""
    slots: Counter[str] = Counter()
    ids = set()
    for node in read(jobmanager, "taskmanagers")["taskmanagers"]:
        details = read(jobmanager, f"taskmanagers/{node['id']}")
        node_slots = sum(slot["jobId"] == job for slot in details["allocatedSlots"])
        if node_slots:
            slots[host_of(node)] += node_slots
            ids.add(str(node["id"]))
    processes = worker_processes(ids)
    return Placement(
        kind=KIND,
        cores=tuple(sorted(slots.values(), reverse=True)),
        processes=processes if len(processes) == len(ids) else (),
    )


def write_jar(path: Path) -> None:
    """Write a jar of the lab's classes, which is sent with each job."""
    folder = classes(environment.folder("flink"))
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*.class")):
            archive.write(file, str(file.relative_to(folder)))
