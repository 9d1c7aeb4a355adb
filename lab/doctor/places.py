"""Probes the places of datasets, runs and caches, and the environments that engines need."""

import os
from pathlib import Path

from streamlab.engines import environment
from streamlab.engines.errors import EngineError
from streamlab.engines.registry import engine, names
from streamlab.lab.doctor.finding import Finding, missing, ok, warn
from streamlab.lab.host.machine import Machine
from streamlab.lab.isolate.process import why_unconfined
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.default_folders import (
    ROOT_VARIABLE,
    RUNS_VARIABLE,
    cache_folder,
    catalogue,
    runs,
)


def places(machine: Machine) -> Finding:
    """Report where datasets and runs lie and why, and whether they can be written there."""
    try:
        found = {"datasets": (catalogue(), ROOT_VARIABLE), "runs": (runs(), RUNS_VARIABLE)}
    except DatasetError as error:
        return missing("places", "no home folder", str(error))
    seen = "; ".join(
        f"{what} in {place.path.absolute()} ({place.why})" for what, (place, _) in found.items()
    )
    seen += f"; caches in {cache_folder()}"
    refused = [name for place, name in found.values() if not _writable(place.path.absolute())]
    if refused:
        return missing("places", seen, f"not writable: name another with {' and '.join(refused)}")
    return ok("places", seen)


def confinement(machine: Machine) -> Finding:
    """Report whether a trial in a process can be kept from other files; see docs/trust.md."""
    why = why_unconfined()
    if why is None:
        return ok("confinement", "trials write to their own folders only and see no answers")
    return warn(
        "confinement",
        f"trials can read expected answers and keep files: {why}",
        'isolate = "container" in [run] confines them; or allow user namespaces '
        "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
    )


def _writable(path: Path) -> bool:
    """Return whether a folder can be written in, or made."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def environments(machine: Machine) -> Finding:
    """Report which engines have an environment of their own, and whether it is made."""
    made: list[str] = []
    lacking: list[str] = []
    for name in names():
        try:
            wanted = environment.declared_environment(engine(name))
        except EngineError:  # `lab list engines` tells it
            continue
        if wanted is not None:
            (made if environment.unusable_reason(name, wanted) is None else lacking).append(name)
    if not lacking:
        return ok("environments", ", ".join(made) or "no engine needs one of its own")
    seen = f"not made or out of date: {', '.join(lacking)}; their cells are unsupported"
    return warn("environments", seen, "; ".join(map(environment.command, lacking)))
