"""Finds workloads, by name or by reference.

A package announces its workloads by name in the entry-point group `lab.workloads`; ours do so too.
What nobody announces is found by `package.module:ATTRIBUTE`, or by `path/to/file.py[:ATTRIBUTE]`.
Anybody may install a package, so whatever goes wrong while one is loaded is an error of that
workload.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint

from streamlab.workloads import references
from streamlab.workloads.default_folders import here
from streamlab.workloads.entry_points import announced
from streamlab.workloads.model import ModelError, Workload
from streamlab.workloads.module_reload import as_files_are
from streamlab.workloads.name_suggestions import meant

GROUP = "lab.workloads"
LONGEST_NAME_BYTES = 64
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def names() -> tuple[str, ...]:
    """Return the names of all workloads that are announced, usable or not."""
    return tuple(sorted({point.name for point in announced(GROUP)}))


def usable() -> Iterator[Workload]:
    """Yield the workloads that are announced and can be loaded."""
    for name in names():
        with suppress(ModelError):
            yield workload(name)


def places(reference: str) -> tuple[str, ...]:
    """Return the modules, or the file, in which a workload is said to be."""
    if references.is_name(reference):
        return tuple(point.module for point in announced(GROUP) if point.name == reference)
    file = references.file_of(reference)
    return (reference.partition(":")[0] if file is None else str(file),)


def workload(reference: str) -> Workload:
    """Return a workload, bound to the defaults of its query parameters.

    Args:
        reference: a name, `package.module:ATTRIBUTE`, or `path/to/file.py[:ATTRIBUTE]`.

    Raises:
        ModelError: there is none, it cannot be loaded, it is no workload, or its name is another's.
    """
    if references.is_name(reference):
        return _by_name(reference).bound({})
    where = references.absolute(reference, here())
    found = _as_workload(references.load(where), where)
    _check_name(found, where)
    return replace(found, reference=where).bound({})


def short_name(reference: str) -> str:
    """Return the name of the workload that a reference leads to; a name stands for itself.

    Raises:
        ModelError: as for `workload`; a name is not looked up.
    """
    return reference if references.is_name(reference) else workload(reference).name


def _by_name(name: str) -> Workload:
    points = [point for point in announced(GROUP) if point.name == name]
    if not points:
        raise ModelError(f"no workload {name!r}; {_remedy(name)}")
    if len({point.value for point in points}) > 1:
        said = " and ".join(f"{_package(point)} ({point.value})" for point in points)
        raise ModelError(
            f"workload {name!r} is announced {len(points)} times, by {said}; uninstall one of them,"
            " or say which one is meant: package.module:ATTRIBUTE"
        )
    where = f"workload {name!r} of {_package(points[0])} ({points[0].value})"
    found = _as_workload(_loaded(points[0], where), where)
    if found.name != name:
        raise ModelError(
            f"{where} is called {found.name!r}; announce it by that name, or call it {name!r}"
        )
    return replace(found, reference=name)


def _loaded(point: EntryPoint, where: str) -> object:
    try:
        return as_files_are(point.load)
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}{references.place(error)}"
        ) from error


def _as_workload(found: object, where: str) -> Workload:
    if not isinstance(found, Workload):
        raise ModelError(
            f"{where} is a {type(found).__name__}, not a Workload; make one of a program with "
            "lab.workload(PROGRAM, input=...)"
        )
    if not _NAME.fullmatch(found.name) or len(found.name.encode()) > LONGEST_NAME_BYTES:
        raise ModelError(
            f"{where} is called {found.name!r:.100}; a name has letters, digits, '-', '_' and '.', "
            f"begins with a letter or digit and is {LONGEST_NAME_BYTES} bytes long at most"
        )
    return found


def _check_name(found: Workload, where: str) -> None:
    """Refuse a workload that is called as another is that is announced: engines go by name."""
    if found.name not in names():
        return
    known = _by_name(found.name)
    if replace(known, reference=found.reference) != found:
        raise ModelError(
            f"{where} is called {found.name!r}, as a workload that {_package(_first(found.name))} "
            "announces, whose hand-written forms engines would take for it; give it another name"
        )


def _first(name: str) -> EntryPoint:
    return next(point for point in announced(GROUP) if point.name == name)


def _remedy(name: str) -> str:
    known = names()
    if not known:
        return "none is announced: the lab is not installed here, run `make setup`"
    return (
        f"{meant(name, known, 'lab list workloads')}; one of your own is given by the path of its "
        "file, or by package.module:ATTRIBUTE"
    )


def _package(point: EntryPoint) -> str:
    return "a package" if point.dist is None else f"package {_name(point.dist)}"


@lru_cache(maxsize=64)
def _name(of: Distribution) -> str:
    return of.name  # read from its file, each time
