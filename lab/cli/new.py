"""`lab new`: a package for an engine of one's own."""

from pathlib import Path

import click

from lab.cli import EXIT_OK


@click.group("new")
def new() -> None:
    """Write a package with an engine that passes its tests as it is, to be changed from there."""


@new.command("engine")
@click.argument("name")
@click.option("--streaming", is_flag=True, help="Takes event after event; else the whole input.")
@click.option(
    "--in",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where the folder is made; the current one by default.",
)
def engine(name: str, streaming: bool, place: Path) -> int:
    """Write an engine NAME: pyproject.toml, README, a class with one workload, and its test."""
    from engines.protocol import INTERFACE
    from engines.registry import names
    from lab.errors import LabError
    from lab.new.package import BATCH, STREAMING, class_of, engine_files, module_of, write_package

    if name in names():
        raise LabError(f"there is an engine {name!r} already, see `lab list engines`: rename")
    kind, module = STREAMING if streaming else BATCH, module_of(name)
    values = {
        "name": name,
        "module": module,
        "cls": class_of(module),
        "kind": kind,
        "interface": INTERFACE,
    }
    write_package(place / name, engine_files(module, kind), values)
    click.echo(
        f"{place / name} is written; now\n"
        f"    pip install -e {place / name}\n    pytest {place / name}\n    lab conform {name}"
    )
    return EXIT_OK
