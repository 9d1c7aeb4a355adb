"""Probes the folders of datasets, runs and caches, and the optional packages and environments of engines."""

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
from streamlab.workloads.optional_packages import EXTRAS, install_command, missing_package


def places(machine: Machine) -> Finding:
    """Report the folders of datasets and runs, why the lab uses them, and whether they are writable."""
    try:
        locations = {"datasets": (catalogue(), ROOT_VARIABLE), "runs": (runs(), RUNS_VARIABLE)}
    except DatasetError as error:
        return missing("no home folder", str(error))
    seen = "; ".join(
        f"{name} in {place.path.absolute()} ({place.why})" for name, (place, _) in locations.items()
    )
    seen += f"; caches in {cache_folder()}"
    variables = [
        variable
        for place, variable in locations.values()
        if not _is_writable(place.path.absolute())
    ]
    if variables:
        return missing(seen, f"not writable: set {' and '.join(variables)} to another folder")
    return ok(seen)


def confinement(machine: Machine) -> Finding:
    """Report whether a trial's process can be confined to its files; see docs/trust.md."""
    why = why_unconfined()
    if why is None:
        return ok("trials write to their own folders only and see no answers")
    return warn(
        f"trials can read expected answers and keep files: {why}",
        'isolate = "container" in [run] confines them; or allow user namespaces '
        "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
    )


def _is_writable(path: Path) -> bool:
    """Return whether a folder is writable, or can be created."""
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def extras(machine: Machine) -> Finding:
    """Report the lab's optional packages, and which of them are not installed."""
    packages = [package for package in EXTRAS if missing_package(package) is not None]
    if not packages:
        return ok(", ".join(sorted({*EXTRAS.values()})))
    missing_extras = sorted({EXTRAS[package] for package in packages})
    return warn(f"not installed: {', '.join(packages)}", install_command(missing_extras))


def environments(machine: Machine) -> Finding:
    """Report the engines with a separate environment, and whether the environment is installed."""
    installed_names: list[str] = []
    missing_names: list[str] = []
    for name in names():
        try:
            required_environment = environment.declared_environment(engine(name))
        except EngineError:  # `lab list engines` reports it
            continue
        if required_environment is not None:
            is_usable = environment.unusable_reason(name, required_environment) is None
            (installed_names if is_usable else missing_names).append(name)
    if not missing_names:
        return ok(", ".join(installed_names) or "no engine needs a separate one")
    seen = f"missing or out of date: {', '.join(missing_names)}; their cells are unsupported"
    return warn(seen, "; ".join(map(environment.command, missing_names)))
