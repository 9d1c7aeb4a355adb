"""Finds workloads, by name or by reference.

Packages, including this one, register workloads by name in the entry-point group `lab.workloads`. Other workloads have
references `package.module:ATTRIBUTE` or `path/to/file.py[:ATTRIBUTE]`. Every failure to load a package is a
`ModelError` of its workload.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint

from streamlab.workloads import references
from streamlab.workloads.default_folders import start_folder
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.model import ModelError, Workload
from streamlab.workloads.model.workload import OpenDeclaration, Outputs
from streamlab.workloads.module_reload import load_current
from streamlab.workloads.name_suggestions import suggest_names

GROUP = "lab.workloads"
"""The entry-point group of workloads."""
LONGEST_NAME_BYTES = 64
"""Names are part of file names, which have at most 255 bytes."""
_NO_URLS = "bids have no URL here, since texts are numbers"
LEFT_OUT = {
    "nexmark_q10": "it writes bids to files for each minute, and gives no answer to compare",
    "nexmark_q21": f"it takes the channel from a bid's URL, but {_NO_URLS}",
    "nexmark_q22": f"it splits a bid's URL into folders, but {_NO_URLS}",
}
"""Why a public query has no workload, by the query's name."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def names() -> tuple[str, ...]:
    """Return the names of all registered workloads, whether or not they load."""
    return tuple(sorted({point.name for point in find_entry_points(GROUP)}))


def usable() -> Iterator[Workload]:
    """Yield the registered workloads that load."""
    for name in names():
        with suppress(ModelError):
            yield workload(name)


def suite(input_name: str) -> tuple[str, ...]:
    """Return the names of the registered workloads with an input, in order of the numbers in their names.

    Raises:
        ModelError: no workload has this input.
    """
    input_names = {entry.name: entry.input_name for entry in usable()}
    members = [name for name, of_input in input_names.items() if of_input == input_name]
    if not members:
        suites = set(input_names.values())
        raise ModelError(
            f"no suite {input_name!r}; {suggest_names(input_name, suites, 'lab list workloads')}"
        )
    return tuple(sorted(members, key=lambda name: [int(part) for part in re.findall(r"\d+", name)]))


def places(reference: str) -> tuple[str, ...]:
    """Return the modules or the file that a workload's reference names."""
    if references.is_name(reference):
        return tuple(point.module for point in find_entry_points(GROUP) if point.name == reference)
    file = references.file_of(reference)
    return (reference.partition(":")[0] if file is None else str(file),)


def workload(reference: str) -> Workload:
    """Return a workload by name or reference, bound to the default query parameters.

    Raises:
        ModelError: the object does not exist, fails to load, is not a workload, or has another workload's name.
    """
    if references.is_name(reference):
        return _load_registered(reference).bound({})
    where = references.absolute(reference, start_folder())
    loaded = _check_workload(references.load(where), where)
    _check_name(loaded, where)
    return replace(loaded, reference=where).bound({})


def short_name(reference: str) -> str:
    """Return the name of the workload or outputs at a reference. A plain name is not checked.

    Raises:
        ModelError: the object does not exist, fails to load, is not a workload, or has another workload's name.
    """
    if references.is_name(reference):
        return reference
    loaded = references.load(references.absolute(reference, start_folder()))
    return loaded.name if isinstance(loaded, Outputs) else workload(reference).name


def outputs(reference: str) -> tuple[str, ...]:
    """Return the references of all outputs at a reference (`lab.outputs`), or the reference itself for a workload.

    Raises:
        ModelError: the object does not exist or fails to load.
    """
    if references.is_name(reference):
        return (reference,)
    loaded = references.load(references.absolute(reference, start_folder()))
    return _output_references(loaded, reference) if isinstance(loaded, Outputs) else (reference,)


def _output_references(group: Outputs, reference: str) -> tuple[str, ...]:
    (place,) = places(reference)
    return tuple(f"{place}:{name}" for name in group.workloads)


def _load_registered(name: str) -> Workload:
    """Return the workload registered by this name; raises `ModelError` if there is none, several, or an invalid one."""
    points = [point for point in find_entry_points(GROUP) if point.name == name]
    if not points:
        raise ModelError(f"no workload {name!r}; {_remedy(name)}")
    if len({point.value for point in points}) > 1:
        packages = " and ".join(f"{_package_name(point)} ({point.value})" for point in points)
        raise ModelError(
            f"workload {name!r} is registered {len(points)} times, by {packages}; uninstall one of them,"
            " or give package.module:ATTRIBUTE"
        )
    where = f"workload {name!r} of {_package_name(points[0])} ({points[0].value})"
    loaded = _check_workload(_load_entry_point(points[0], where), where)
    if loaded.name != name:
        raise ModelError(
            f"{where} is called {loaded.name!r}; register it by that name, or call it {name!r}"
        )
    return replace(loaded, reference=name)


def _load_entry_point(point: EntryPoint, where: str) -> object:
    try:
        return load_current(point.load)
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}{references.locate_error(error)}"
        ) from error


def _check_workload(loaded: object, where: str) -> Workload:
    """Return an object after checking that it is a workload with a valid name; raises `ModelError`."""
    if isinstance(loaded, OpenDeclaration):
        raise ModelError(f"{where} is not a workload: {loaded.error}")
    if isinstance(loaded, Outputs):
        raise ModelError(
            f"{where} has several outputs; name one of them: {', '.join(_output_references(loaded, where))}"
        )
    if not isinstance(loaded, Workload):
        raise ModelError(
            f"{where} is a {type(loaded).__name__}, not a Workload; make one of a program with "
            "lab.workload(PROGRAM, input=...)"
        )
    if not _NAME.fullmatch(loaded.name) or len(loaded.name.encode()) > LONGEST_NAME_BYTES:
        raise ModelError(
            f"{where} is called {loaded.name!r:.100}; a name has letters, digits, '-', '_' and '.', "
            f"begins with a letter or digit and is {LONGEST_NAME_BYTES} bytes long at most"
        )
    return loaded


def _check_name(loaded: Workload, where: str) -> None:
    """Refuse a workload with the name of a different registered one, because engines select programs by name."""
    if loaded.name not in names():
        return
    registered = _load_registered(loaded.name)
    if replace(registered, reference=loaded.reference) != loaded:
        first = next(point for point in find_entry_points(GROUP) if point.name == loaded.name)
        raise ModelError(
            f"{where} is called {loaded.name!r}, like a workload of {_package_name(first)}, whose hand-written "
            "programs engines would run; give it another name"
        )


def _remedy(name: str) -> str:
    """Return why no workload has this name, or how to find one."""
    if name in LEFT_OUT:
        return LEFT_OUT[name]
    registered = names()
    if not registered:
        return "no workload is registered, because the lab is not installed; run `make setup`"
    return (
        f"{suggest_names(name, registered, 'lab list workloads')}; give your own workload by the path of its "
        "file, or by package.module:ATTRIBUTE"
    )


def _package_name(point: EntryPoint) -> str:
    return "a package" if point.dist is None else f"package {_distribution_name(point.dist)}"


@lru_cache(maxsize=64)
def _distribution_name(distribution: Distribution) -> str:
    return distribution.name  # the property reads a file each time
