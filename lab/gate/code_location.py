"""Locates the code of cells, and refuses code that both arms would import from the same place."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from streamlab.engines.registry import GROUP
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.projects import installed_files
from streamlab.lab.host.installation import IMPORT_ROOT, SOURCE
from streamlab.lab.matrix.cells import Cell
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.registry import places as places_of
from streamlab.workloads.registry import workload as find_workload

LAB_FOLDERS = (
    IMPORT_ROOT / "streamlab",
    *(SOURCE / name for name in ("lab", "workloads", "engines", "results", "reports")),
)
"""Folders of the packages that a build of this lab contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place from which a part of a cell is imported.

    Attributes:
        part: description of the part, such as `engine 'multicore'`.
        file: the part's file; None if the module has no file.
    """

    part: str
    file: Path | None

    @property
    def is_lab(self) -> bool:
        """Whether the part belongs to the running lab."""
        return self.below(LAB_FOLDERS)

    def below(self, folders: Iterable[Path]) -> bool:
        """Return whether the file is in any of these folders."""
        return self.file is not None and any(self.file.is_relative_to(each) for each in folders)


def find_places(engine: str, workload: str) -> tuple[Place, ...]:
    """Return the places from which this process imports an engine and a workload.

    Raises:
        EngineError: the engine is unknown or cannot be loaded.
        ModelError: the workload is unknown.
    """
    return tuple(
        Place(part=part, file=_find_file(module))
        for part, module in dict.fromkeys(_modules(engine, workload))
    )


def find_strays(checkout: Path, projects: Collection[str]) -> tuple[Place, ...]:
    """Return the repository's modules and libraries that this process loaded from outside its arm.

    Such a file belongs to the user's checkout (in an editable install), or to an installed package that
    was built from the checkout.
    """
    install_folders = (Path(sys.prefix).resolve(), *LAB_FOLDERS)
    copies = installed_files(projects, checkout)
    modules = [
        Place(part=f"module {name!r}", file=_file_of(module))
        for name, module in sorted(sys.modules.copy().items())
    ]
    module_files = {place.file for place in modules}
    libraries = [
        Place(part=f"library {file.name!r}", file=file)
        for file in _mapped_code()
        if file not in module_files
    ]
    return tuple(
        place
        for place in (*modules, *libraries)
        if place.file in copies or (place.below([checkout]) and not place.below(install_folders))
    )


def find_loaded_files(folder: Path) -> tuple[Path, ...]:
    """Return the files in a folder that this process loaded as modules or libraries."""
    files = {*map(_file_of, sys.modules.copy().values()), *_mapped_code()}
    return tuple(sorted(file for file in files if file and file.is_relative_to(folder)))


def check_built_packages(cells: Sequence[Cell]) -> None:
    """Refuse cells whose engine or workload is outside the packages that this lab builds."""
    for engine, workload in dict.fromkeys(
        (cell.engine, cell.entry.full_reference) for cell in cells
    ):
        for place in find_places(engine, workload):
            if not place.is_lab:
                raise GateError(
                    f"{place.part} is in {place.file}, outside the packages built from {SOURCE}: "
                    "both arms would import the same copy and miss its changes; gate the "
                    "repository of that file (--repo DIR, with --build COMMAND), or run the matrix "
                    "with each version installed (`lab run`) and compare the runs: lab compare "
                    "RUN_A RUN_B, or lab gate --baseline RUN_A --run RUN_B"
                )


def check_arm(arm: Arm, located: Mapping[str, Sequence[Place]]) -> None:
    """Refuse cells whose code is from outside the arm and the lab, and cells with only the lab's code."""
    folder = arm.tree.parent
    for cell, parts in located.items():
        for place in parts:
            if not place.is_lab and not place.below([folder]):
                raise GateError(
                    f"{cell}: the {arm.name} arm imports {place.part} from {place.file}, not from "
                    f"its build in {folder}: both arms would run the same copy and miss its "
                    "changes; let --build install it into {site}, and uninstall the other copy "
                    "(pip uninstall)"
                )
        if all(place.is_lab for place in parts):
            raise GateError(
                f"{cell}: engine and workload are the lab's, and the same in both arms; exclude "
                "this cell with --only, or gate the lab's source, without --repo"
            )


def _mapped_code() -> Sequence[Path]:
    """Return the files whose machine code is mapped into this process; empty except on Linux."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ()
    fields = (line.split(maxsplit=5) for line in lines.splitlines())
    names = {each[5] for each in fields if "x" in each[1] and each[5:] and each[5][0] == "/"}
    return [Path(name) for name in sorted(names)]


def _modules(engine: str, workload: str) -> Iterator[tuple[str, str]]:
    """Yield the description and the module or file of each part of a cell."""
    # Yield all entry points with the name, because arms may find them in different orders.
    for point in find_entry_points(GROUP):
        if point.name == engine:
            yield f"engine {engine!r}", point.module
    yield f"engine {engine!r}", type(find_engine(engine)).__module__
    find_workload(workload)
    for module in places_of(workload):
        yield f"workload {workload!r}", module


def _find_file(module: str) -> Path | None:
    """Return a module's file; `module` is a name or the path of a file."""
    if module.endswith(".py"):
        return Path(module).resolve()
    return _file_of(import_module(module))


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()
