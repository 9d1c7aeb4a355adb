"""Finds where cells' code lies, and refuses what both arms would import from one place."""

import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from streamlab.engines.registry import GROUP
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.projects import installed_files
from streamlab.lab.host.installation import SOURCE
from streamlab.lab.matrix.cells import Cell
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.registry import places as places_of
from streamlab.workloads.registry import workload as find_workload

OWN_PACKAGES = ("lab", "workloads", "engines", "results", "reports")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something that a cell runs is imported from.

    Attributes:
        what: in words.
        file: None: the module has none.
    """

    what: str
    file: Path | None

    @property
    def own(self) -> bool:
        """Whether it is a part of the lab that runs here."""
        return self.below(SOURCE / name for name in OWN_PACKAGES)

    def below(self, folders: Iterable[Path]) -> bool:
        """Return whether it lies in any of these folders."""
        return self.file is not None and any(self.file.is_relative_to(each) for each in folders)


def places(engine: str, workload: str) -> tuple[Place, ...]:
    """Return where an engine and a workload are imported from, by this process.

    Raises:
        EngineError: there is no such engine, or it cannot be loaded.
        ModelError: there is no such workload.
    """
    return tuple(
        Place(what=what, file=_file(module))
        for what, module in dict.fromkeys(_modules(engine, workload))
    )


def strays(checkout: Path, projects: Collection[str]) -> tuple[Place, ...]:
    """Return the modules of a repository that this process has imported, from outside its arm too.

    Libraries that they have loaded (ctypes, the linker) count. Such modules come from the user's
    checkout, where both arms find an installation in editable mode, or from an installed package
    that was built from it.

    Args:
        checkout: the user's checkout of the repository.
        projects: that have their source there (`streamlab.lab.gate.projects`).
    """
    installed = (Path(sys.prefix).resolve(), *(SOURCE / name for name in OWN_PACKAGES))
    copies = installed_files(projects, checkout)
    modules = [
        Place(what=f"module {name!r}", file=_file_of(module))
        for name, module in sorted(sys.modules.copy().items())
    ]
    known = {place.file for place in modules}
    libraries = [
        Place(what=f"library {file.name!r}", file=file)
        for file in _mapped_code()
        if file not in known
    ]
    return tuple(
        place
        for place in (*modules, *libraries)
        if place.file in copies or (place.below([checkout]) and not place.below(installed))
    )


def loaded_below(folder: Path) -> tuple[Path, ...]:
    """Return the files below a folder of modules and libraries that this process has loaded."""
    files = {*map(_file_of, sys.modules.copy().values()), *_mapped_code()}
    return tuple(sorted(file for file in files if file and file.is_relative_to(folder)))


def check_inside(cells: Sequence[Cell], source: Path = SOURCE) -> None:
    """Check that engines and workloads of cells lie in the packages that are built of this lab.

    Args:
        cells: of one matrix.
        source: the source tree, with its pyproject.toml.

    Raises:
        GateError: one does not; the message has its name, where it lies, and the remedy.
    """
    packages = [source.resolve() / name for name in _built(source)]
    for engine, workload in dict.fromkeys((cell.engine, cell.entry.found_by) for cell in cells):
        for place in places(engine, workload):
            if not place.below(packages):
                raise GateError(
                    f"{place.what} lies in {place.file}, outside what is built of {source}: both "
                    "arms would import this one copy, and a change of it would go unseen; gate "
                    "the repository that it is in (--repo DIR, with --build COMMAND), or run the "
                    "matrix with each version of it installed (`lab run`) and compare the runs: "
                    "lab compare RUN_A RUN_B, or lab gate --baseline RUN_A --run RUN_B"
                )


def check_arm(arm: Arm, found: Mapping[str, Sequence[Place]]) -> None:
    """Check that each cell runs something of an arm, and nothing else that is not the lab's.

    Args:
        arm: of a repository.
        found: by cell's id, where its parts are imported from in that arm.

    Raises:
        GateError: a part comes from elsewhere, or all of a cell's are the lab's own.
    """
    folder = arm.tree.parent
    for cell, parts in found.items():
        for place in parts:
            if not place.own and not place.below([folder]):
                raise GateError(
                    f"{cell}: {place.what} is imported from {place.file} in the {arm.name} arm, "
                    f"and not from what was built of it, in {folder}: both arms would run this "
                    "one copy, and a change of it would go unseen; have --build put it into "
                    "{site}, and uninstall the other copy (pip uninstall)"
                )
        if all(place.own for place in parts):
            raise GateError(
                f"{cell}: engine and workload are the lab's own, and the same in both arms; leave "
                "this cell out with --only, or gate the lab's source itself, without --repo"
            )


def _mapped_code() -> Sequence[Path]:
    """Return the files whose machine code is mapped into this process; none without Linux."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ()
    fields = (line.split(maxsplit=5) for line in lines.splitlines())
    found = {each[5] for each in fields if "x" in each[1] and each[5:] and each[5][0] == "/"}
    return [Path(name) for name in sorted(found)]


def _built(source: Path) -> list[str]:
    with (source / "pyproject.toml").open("rb") as file:
        packages: list[str] = tomllib.load(file)["tool"]["scikit-build"]["wheel"]["packages"]
    return packages


def _modules(engine: str, workload: str) -> Iterator[tuple[str, str]]:
    """Yield what a cell runs, in words, and the modules or files in which that is."""
    # All of that name: which of them is found first may differ in an arm.
    for point in find_entry_points(GROUP):
        if point.name == engine:
            yield f"engine {engine!r}", point.module
    yield f"engine {engine!r}", type(find_engine(engine)).__module__
    find_workload(workload)
    for module in places_of(workload):
        yield f"workload {workload!r}", module


def _file(module: str) -> Path | None:
    """Return the file of a module, which may be a file itself."""
    if module.endswith(".py"):
        return Path(module).resolve()
    return _file_of(import_module(module))


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()
