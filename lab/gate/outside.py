"""Refuses cells whose code no revision holds: both arms would import the same installed copy."""

import tomllib
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from engines.registry import GROUP
from engines.registry import engine as find_engine
from lab.gate.errors import GateError
from lab.matrix.cells import Cell
from lab.run.host import SOURCE
from workloads.registry import places


def check_inside(cells: Sequence[Cell], source: Path = SOURCE) -> None:
    """Check that engines and workloads of cells lie in the packages that are built.

    Args:
        cells: of one matrix.
        source: the source tree, with its pyproject.toml.

    Raises:
        GateError: one does not; the message has its name, where it lies, and the remedy.
    """
    packages = [source.resolve() / name for name in _built(source)]
    for what, lies in dict.fromkeys(place for cell in cells for place in _places(cell)):
        if not any(Path(lies).resolve().is_relative_to(package) for package in packages):
            raise GateError(
                f"{what} lies in {lies}, outside what is built of {source}: both arms "
                "would import this one copy, and a change of it would go unseen; run the matrix "
                "with each version of it installed (`lab run`) and compare the runs: "
                "lab compare RUN_A RUN_B, or lab gate --baseline RUN_A --run RUN_B"
            )


def _built(source: Path) -> list[str]:
    with (source / "pyproject.toml").open("rb") as file:
        packages: list[str] = tomllib.load(file)["tool"]["scikit-build"]["wheel"]["packages"]
    return packages


def _places(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield what a cell runs, in words, and the files in which that is (or modules without one)."""
    engine = f"engine {cell.engine!r}"
    # All of that name: which of them is found first may differ in an arm.
    for point in entry_points(group=GROUP, name=cell.engine):
        yield engine, _file(point.module)
    yield engine, _file(type(find_engine(cell.engine)).__module__)
    for module in places(cell.entry.found_by):
        yield f"workload {cell.entry.name!r}", _file(module)


def _file(module: str) -> str:
    """Return the file of a module; what is one already, or a module without one, stays."""
    if module.endswith(".py"):
        return module
    return str(getattr(import_module(module), "__file__", None) or module)
