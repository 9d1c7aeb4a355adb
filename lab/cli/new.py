"""`lab new`: creates a package for a new engine or workload."""

from collections.abc import Collection
from pathlib import Path

import click

from streamlab.engines.protocol import INTERFACE
from streamlab.engines.registry import names as engine_names
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import LabGroup, echo
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.errors import LabError
from streamlab.lab.new.package import (
    BATCH,
    STREAMING,
    class_of,
    engine_files,
    module_of,
    workload_files,
    write_package,
)
from streamlab.workloads.registry import names as workload_names

_in = click.option(
    "--in",
    "place",
    type=AbsolutePath(file_okay=False),
    default=Path(),
    help="Parent folder of the package; default: the current folder.",
)


@click.group("new", cls=LabGroup)
def new() -> None:
    """Create a package that passes its tests, as a starting point."""


@new.command("engine")
@click.argument("name")
@click.option(
    "--streaming", is_flag=True, help="Take event after event; default: the whole input at once."
)
@_in
def engine(name: str, streaming: bool, place: Path) -> int:
    """Create engine NAME: pyproject.toml, README, a class that runs one workload, and a test."""
    module = _module("engine", name, engine_names())
    kind = STREAMING if streaming else BATCH
    values = {"name": name, "module": module, "cls": class_of(module), "kind": kind}
    write_package(place / name, engine_files(module, kind), values | {"interface": INTERFACE})
    _print_next_steps(place / name, f"lab conform {name}")
    return EXIT_OK


@new.command("workload")
@click.argument("name")
@_in
def workload(name: str, place: Path) -> int:
    """Create workload NAME: pyproject.toml, README, a program on a CSV file, an oracle, a test."""
    module = _module("workload", name, workload_names())
    write_package(place / name, workload_files(module), {"name": name, "module": module})
    _print_next_steps(
        place / name, f"lab run {name} --engine reference --engine multicore -w 1,2 --report"
    )
    return EXIT_OK


def _module(kind: str, name: str, taken: Collection[str]) -> str:
    """Return the module name for a new package.

    Raises:
        LabError: the name is taken or not valid.
    """
    if name in taken:
        raise LabError(f"{kind} {name!r} exists already (`lab list {kind}s`); use another name")
    return module_of(name)


def _print_next_steps(folder: Path, command: str) -> None:
    echo(f"created {folder}; next\n    pip install -e {folder}\n    pytest {folder}\n    {command}")
