"""Finds Python objects by reference: `package.module:ATTRIBUTE`, or `path/to/file.py[:ATTRIBUTE]`.

Anybody's module or file may be named, so whatever goes wrong while it is loaded is an error of the
user's, with the place.
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

from streamlab.workloads.default_folders import here
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.module_reload import as_files_are

ATTRIBUTE = "WORKLOAD"
"""What a file is asked for where its reference names nothing."""

_FILE = re.compile(r"(?P<path>.*\.py)(?::(?P<attribute>[^/\\:]*))?", re.DOTALL)
_MODULES = "_stream_lab_file_"
"""So begin the names of the modules as which files are loaded: nobody's, so nothing is shadowed."""


def is_file(reference: str) -> bool:
    """Tell whether a reference names a file."""
    return _FILE.fullmatch(reference) is not None


def is_name(reference: str) -> bool:
    """Tell whether a reference is a plain name: neither a file nor an attribute of a module."""
    return ":" not in reference and not is_file(reference)


def absolute(reference: str, folder: Path) -> str:
    """Return a reference that holds wherever one stands; files are relative to `folder`."""
    found = _FILE.fullmatch(reference)
    if found is None:
        return reference
    try:
        path = Path(folder.absolute(), Path(found["path"]).expanduser())
    except RuntimeError as error:  # no HOME, or no such user
        raise ModelError(
            f"{reference!r}: the home folder of ~ is not known; write the whole path"
        ) from error
    attribute = found["attribute"]
    return str(path) if attribute in (None, ATTRIBUTE) else f"{path}:{attribute}"


def file_of(reference: str) -> Path | None:
    """Return the file that a reference names; None for a name or an attribute of a module."""
    found = _FILE.fullmatch(reference)
    return None if found is None else Path(found["path"])


def load(reference: str) -> object:
    """Return what a reference to a file or to an attribute of a module leads to.

    Modules are looked for in the current folder, too, where one that is being written is, unless
    Python was told not to (PYTHONSAFEPATH). A file's neighbours can be imported by it, as those of
    a script can; both come before installed packages and behind the standard library. What is
    loaded is loaded once, and all of it again when one of its files, or of the files that it
    imports, has changed.

    Raises:
        ModelError: there is no such file, module or attribute, or it fails while it is loaded.
    """
    found = _FILE.fullmatch(reference)
    if found is not None:
        path, attribute = Path(found["path"]), found["attribute"] or ATTRIBUTE
        module, called = as_files_are(lambda: _file(path)), str(path)
    else:
        name, _, attribute = reference.partition(":")
        module, called = as_files_are(lambda: _module(name)), repr(name)
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        raise ModelError(
            f"cannot get {attribute!r} from {called}: it has nothing of that name; {_has(module)}"
        ) from error


def _has(module: ModuleType) -> str:
    """Return the names in capitals in a module, as its workloads and programs are called."""
    names = [name for name in vars(module) if name.isupper() and not name.startswith("_")]
    return f"it has {', '.join(names)}" if names else "nothing in it is in capitals"


def place(error: BaseException) -> str:
    """Return where an import failed, as the end of a message; nothing where no file is to blame."""
    ours = (str(Path(__file__).parent), str(importlib.__file__), "<")
    frames = [f for f in extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    if frames:
        return f", in {frames[-1].filename}:{frames[-1].lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        return f", in {error.filename}:{error.lineno}"
    return ""


def _module(name: str) -> ModuleType:
    where = "among the installed packages"
    if not sys.flags.safe_path:
        _search(here())
        where = f"in {here()} and {where}"
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        raise ModelError(
            f"module {name!r} cannot be imported: {type(error).__name__}: {error}{place(error)}; "
            f"it is looked for {where}"
        ) from error


def _file(path: Path) -> ModuleType:
    path = Path(here(), path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror or error}; a workload is given by the path of "
            "its Python file, by package.module:ATTRIBUTE, or by a name of `lab list workloads`"
        ) from error
    digest = hashlib.sha256(b"\0".join((os.fsencode(path), content))).hexdigest()
    name = f"{_MODULES}{digest[:32]}"
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    _search(path.parent)
    _refuse_other_neighbours(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "its name ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of the file look for it there
    try:
        # Compiled here: Python's own cache goes by a file's time and size, not by its content.
        exec(compile(content, str(path), "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception | SystemExit):
            raise
        raise ModelError(
            f"{path} cannot be loaded: {type(error).__name__}: {error}{place(error)}"
        ) from error
    return module


def _refuse_other_neighbours(path: Path) -> None:
    """Refuse a file beside which a module is called as one that is imported from elsewhere.

    It would be given the other one: a process has one module of a name.

    Raises:
        ModelError: there is such a module, of another workload's folder.
    """
    folders = {
        Path(module.__file__).parent
        for name, module in list(sys.modules.items())
        if name.startswith(_MODULES) and module.__file__
    } - {path.parent}
    neighbours = {*path.parent.glob("*.py"), *path.parent.glob("*/__init__.py")} - {path}
    for beside in sorted(neighbours):
        name = beside.stem if beside.parent == path.parent else beside.parent.name
        known = getattr(sys.modules.get(name), "__file__", None)
        if known and any(Path(known).is_relative_to(folder) for folder in folders):
            raise ModelError(
                f"{path} cannot be loaded: beside it is {beside.relative_to(path.parent)}, and "
                f"{known} has been imported as {name!r} for another workload; rename one of them, "
                "or run these workloads one after the other"
            )


def _search(folder: Path) -> None:
    """Let modules in a folder be imported, before installed packages, behind Python's own."""
    if str(folder) in sys.path:
        return
    installed = [
        index
        for index, entry in enumerate(sys.path)
        if Path(entry).name in ("site-packages", "dist-packages")
    ]
    sys.path.insert(installed[0] if installed else len(sys.path), str(folder))
