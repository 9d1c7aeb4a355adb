"""Probes the places of datasets, runs and caches, as seen from the current folder."""

import os
from pathlib import Path

from lab.doctor.finding import Finding, missing, ok
from lab.host.machine import Machine
from workloads.datasets.errors import DatasetError
from workloads.places import (
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


def _writable(path: Path) -> bool:
    """Return whether a folder can be written in, or made."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    return there.is_dir() and os.access(there, os.W_OK)
