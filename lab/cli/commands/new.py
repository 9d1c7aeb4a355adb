"""Implements `lab new`."""

from collections.abc import Collection
from pathlib import Path

from streamlab.engines.protocol import INTERFACE
from streamlab.engines.registry import names as engine_names
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo
from streamlab.lab.errors import LabError
from streamlab.lab.new.package import (
    BATCH,
    STREAMING,
    class_of,
    engine_files,
    module_of,
    workload_files,
    write_package,
    write_program,
)
from streamlab.workloads.registry import names as workload_names


def new_engine(name: str, streaming: bool, place: Path) -> int:
    """Create engine NAME: pyproject.toml, README, a class that runs one workload, and a test."""
    module = _module("engine", name, engine_names())
    kind = STREAMING if streaming else BATCH
    values = {"name": name, "module": module, "cls": class_of(module), "kind": kind}
    write_package(place / name, engine_files(module, kind), values | {"interface": INTERFACE})
    _print_next_steps(place / name, f"lab conform {name}")
    return EXIT_OK


def new_workload(name: str, place: Path) -> int:
    """Create workload NAME: pyproject.toml, README, a program on a CSV file, an oracle, a test."""
    module = _module("workload", name, workload_names())
    write_package(place / name, workload_files(module), {"name": name, "module": module})
    _print_next_steps(
        place / name, f"lab run {name} --engine reference --engine multicore -w 1,2 --report"
    )
    return EXIT_OK


def new_program(name: str, language: str, place: Path) -> int:
    """Create the file of a program that `lab run --command` runs as an engine."""
    first, *commands = write_program(name, language, place)
    echo("\n    ".join([first, *commands]))
    return EXIT_OK


def _module(kind: str, name: str, existing_names: Collection[str]) -> str:
    """Return the module name for a new package."""
    if name in existing_names:
        raise LabError(f"{kind} {name!r} exists already (`lab list {kind}s`); use another name")
    return module_of(name)


def _print_next_steps(folder: Path, command: str) -> None:
    echo(f"created {folder}; next\n    pip install -e {folder}\n    pytest {folder}\n    {command}")
