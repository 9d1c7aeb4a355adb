"""Loads Python objects by reference: `package.module:ATTRIBUTE`, or `path/to/file.py[:ATTRIBUTE]`.

The objects are a user's code, so every failure to load them is a `ModelError` with the place.
"""

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from streamlab.workloads.default_folders import start_folder
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.workload import OpenDeclaration, Outputs, Workload
from streamlab.workloads.module_reload import load_current

ATTRIBUTE = "WORKLOAD"
"""The default attribute of a reference to a file. If the file lacks it, the file's only workload is meant."""

_FILE = re.compile(r"(?P<path>.*\.py)(?::(?P<attribute>[^/\\:]*))?", re.DOTALL)
_MODULES = "_stream_lab_file_"
"""Prefix for the names of modules loaded from files, so that they shadow no other module."""


def is_file(reference: str) -> bool:
    """Return whether a reference names a file."""
    return _FILE.fullmatch(reference) is not None


def is_name(reference: str) -> bool:
    """Return whether a reference is a plain name: neither a file nor an attribute of a module."""
    return ":" not in reference and not is_file(reference)


def absolute(reference: str, folder: Path) -> str:
    """Return a reference that is valid in any current folder; relative paths are relative to `folder`."""
    parts = _FILE.fullmatch(reference)
    if parts is None:
        return reference
    try:
        path = Path(folder.absolute(), Path(parts["path"]).expanduser())
    except RuntimeError as error:  # no HOME, or no such user
        raise ModelError(
            f"{reference!r}: the home folder of ~ cannot be found; write the full path"
        ) from error
    attribute = parts["attribute"]
    return str(path) if attribute in (None, ATTRIBUTE) else f"{path}:{attribute}"


def file_of(reference: str) -> Path | None:
    """Return the file that a reference names; None for a name or an attribute of a module."""
    parts = _FILE.fullmatch(reference)
    return None if parts is None else Path(parts["path"])


def load(reference: str) -> object:
    """Return the object of a reference to a file or to an attribute of a module.

    Modules are also searched in the current folder, unless PYTHONSAFEPATH is set. A file can import modules of its own
    folder. Both folders come after the standard library and before installed packages. Objects are loaded again if
    their file, or a file that it imports, has changed.

    Raises:
        ModelError: the file, module or attribute does not exist, or loading it fails.
    """
    parts = _FILE.fullmatch(reference)
    if parts is not None:
        path = Path(parts["path"])
        module, shown = load_current(lambda: _load_file(path)), str(path)
        attribute = parts["attribute"] or _only_workload(module, shown)
    else:
        name, _, attribute = reference.partition(":")
        module, shown = load_current(lambda: _import_module(name)), repr(name)
    outputs = {id(o): o for o in vars(module).values() if isinstance(o, Outputs)}.values()
    matches = [group.workloads[attribute] for group in outputs if attribute in group.workloads]
    if len(matches) > 1:
        raise ModelError(f"{shown} has {len(matches)} outputs {attribute}; give each another name")
    if matches:
        return matches[0]
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        # By convention, workloads and programs are named in capitals.
        names = [name for name in vars(module) if name.isupper() and not name.startswith("_")]
        raise ModelError(
            f"{shown} has no attribute {attribute!r}; it has {', '.join(names) or 'no names in capitals'}"
        ) from error


def _only_workload(module: ModuleType, shown: str) -> str:
    """Return the name of a file's only outputs (`lab.outputs`) or workload; `WORKLOAD` if the file has that name.

    If the file has outputs, its workloads do not count. A workload that is the input of another one never counts. If
    the file has neither outputs nor workloads, return `WORKLOAD`.

    Raises:
        ModelError: the file defines several workloads, or only an incomplete declaration.
    """
    defined = vars(module)
    if ATTRIBUTE in defined:
        return ATTRIBUTE
    names = list({id(o): name for name, o in defined.items() if isinstance(o, Outputs)}.values())
    alternative = ""
    if not names:
        workloads = {id(w): (name, w) for name, w in defined.items() if isinstance(w, Workload)}
        inputs = [getattr(w.declaration, "before", None) for _, w in workloads.values()]
        names = [
            name
            for name, w in workloads.values()
            if w.declaration is None or not any(w.declaration is before for before in inputs)
        ]
        group = ", ".join(f"{name}={name}" for name in names)
        alternative = f"; or run them together: WORKLOAD = lab.outputs({group})"
    if len(names) > 1:
        choices = ", ".join(f"{Path(shown).name}:{name}" for name in names)
        raise ModelError(
            f"{shown} defines {len(names)} workloads; name one of them: {choices}{alternative}"
        )
    for value in () if names else defined.values():
        if isinstance(value, OpenDeclaration):
            raise ModelError(value.error)
    return names[0] if names else ATTRIBUTE


def locate_error(error: BaseException) -> str:
    """Return ", in FILE:LINE" for the place where an import failed; empty if it is not in a user's file."""
    ours = (str(Path(__file__).parents[1]), str(importlib.__file__), "<")
    frames = [f for f in extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    if frames:
        return f", in {frames[-1].filename}:{frames[-1].lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        return f", in {error.filename}:{error.lineno}"
    return ""


def _import_module(name: str) -> ModuleType:
    """Return a module by name; raises `ModelError` if it cannot be imported."""
    where = "among the installed packages"
    if not sys.flags.safe_path:
        _extend_search(start_folder())
        where = f"in {start_folder()} and {where}"
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # a module can raise anything when imported
        raise ModelError(
            f"module {name!r} cannot be imported: {type(error).__name__}: {error}{locate_error(error)}; "
            f"the lab searched {where}"
        ) from error


def _load_file(path: Path) -> ModuleType:
    """Return the module of a file, loaded once for each content of the file; raises `ModelError` if that fails."""
    path = Path(start_folder(), path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror or error}; give the path of a Python file, "
            "package.module:ATTRIBUTE, or a name of `lab list workloads`"
        ) from error
    digest = hashlib.sha256(b"\0".join((os.fsencode(path), content))).hexdigest()
    name = f"{_MODULES}{digest[:32]}"
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    _extend_search(path.parent)
    _refuse_other_neighbours(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "its name ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of the file look up their module there
    try:
        # Compile the content, because Python's bytecode cache checks only a file's time and size.
        exec(compile(content, str(path), "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception | SystemExit):
            raise
        raise ModelError(
            f"{path} cannot be loaded: {type(error).__name__}: {error}{locate_error(error)}"
        ) from error
    return module


def _refuse_other_neighbours(path: Path) -> None:
    """Refuse a file if a module next to it has the name of a module imported for another workload.

    A process has one module of each name, so the file would import the other workload's module.

    Raises:
        ModelError: such a module exists.
    """
    folders = {
        Path(module.__file__).parent
        for name, module in list(sys.modules.items())
        if name.startswith(_MODULES) and module.__file__
    } - {path.parent}
    neighbours = {*path.parent.glob("*.py"), *path.parent.glob("*/__init__.py")} - {path}
    for neighbour in sorted(neighbours):
        name = neighbour.stem if neighbour.parent == path.parent else neighbour.parent.name
        imported = getattr(sys.modules.get(name), "__file__", None)
        if imported and any(Path(imported).is_relative_to(folder) for folder in folders):
            raise ModelError(
                f"{path} cannot be loaded: its folder has {neighbour.relative_to(path.parent)}, and "
                f"{imported} has been imported as {name!r} for another workload; rename one of them, "
                "or run these workloads one after the other"
            )


def _extend_search(folder: Path) -> None:
    """Add a folder to the module search, after the standard library and before installed packages."""
    if str(folder) in sys.path:
        return
    installed = [
        index
        for index, entry in enumerate(sys.path)
        if Path(entry).name in ("site-packages", "dist-packages")
    ]
    sys.path.insert(installed[0] if installed else len(sys.path), str(folder))
