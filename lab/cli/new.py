"""`lab new`: a package for an engine, or a workload, of one's own."""

from collections.abc import Collection
from pathlib import Path

import click

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.paths import AbsolutePath

_in = click.option(
    "--in",
    "place",
    type=AbsolutePath(file_okay=False),
    default=Path(),
    help="Where the folder is made; the current one by default.",
)


@click.group("new")
def new() -> None:
    """Write a package that passes its tests as it is, to be changed from there."""


@new.command("engine")
@click.argument("name")
@click.option("--streaming", is_flag=True, help="Takes event after event; else the whole input.")
@_in
def engine(name: str, streaming: bool, place: Path) -> int:
    """Write an engine NAME: pyproject.toml, README, a class with one workload, and its test."""
    from streamlab.engines.protocol import INTERFACE
    from streamlab.engines.registry import names
    from streamlab.lab.new.package import BATCH, STREAMING, class_of, engine_files, write_package

    module = _module("engine", name, names())
    kind = STREAMING if streaming else BATCH
    values = {"name": name, "module": module, "cls": class_of(module), "kind": kind}
    write_package(place / name, engine_files(module, kind), values | {"interface": INTERFACE})
    _tell(place / name, f"lab conform {name}")
    return EXIT_OK


@new.command("workload")
@click.argument("name")
@_in
def workload(name: str, place: Path) -> int:
    """Write a workload NAME: pyproject.toml, README, a program over a CSV, an oracle, a test."""
    from streamlab.lab.new.package import workload_files, write_package
    from streamlab.workloads.registry import names

    module = _module("workload", name, names())
    write_package(place / name, workload_files(module), {"name": name, "module": module})
    _tell(place / name, f"lab run {name} --engine reference --engine multicore -w 1,2 --report")
    return EXIT_OK


def _module(what: str, name: str, known: Collection[str]) -> str:
    """Return the module of a package, whose name is nobody's yet."""
    from streamlab.lab.errors import LabError
    from streamlab.lab.new.package import module_of

    if name in known:
        raise LabError(f"{what} {name!r} is there already, see `lab list {what}s`: rename")
    return module_of(name)


def _tell(folder: Path, then: str) -> None:
    click.echo(
        f"{folder} is written; now\n    pip install -e {folder}\n    pytest {folder}\n    {then}"
    )
