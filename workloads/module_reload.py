"""Imports a user's modules again after one of their files was edited.

A long-lived process, such as a notebook's, would otherwise use the code of the first import.
"""

import hashlib
import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TypeVar
from weakref import WeakKeyDictionary

from streamlab.workloads.model.code.fingerprint import is_user_module

T = TypeVar("T")

_IMPORTED: WeakKeyDictionary[ModuleType, str] = WeakKeyDictionary()
"""The digest of each module's file at the time the lab first saw the module."""


def load_current(load: Callable[[], T]) -> T:
    """Call `load`, which imports modules, and return its result for the present content of the files.

    If a module imported by this function has been edited, all modules imported by this function are imported again,
    because they may hold objects of each other. Existing objects keep the old code. A module that other code imported
    is watched only once this function has loaded a module from the same folder or a parent folder.
    """
    _forget_edited()
    before, loaded = set(sys.modules), None
    try:
        result = load()
        loaded = getattr(result, "__file__", None)
        return result
    finally:
        folder = None if loaded is None else Path(loaded).parent
        # Most calls import nothing, and there are thousands of modules.
        for name in sys.modules.keys() - before if folder is None else list(sys.modules):
            module = sys.modules.get(name)
            if module is None:
                continue  # an import in another thread has failed
            file = getattr(module, "__file__", None) or ""
            is_source = file.endswith(".py") and is_user_module(name, file) and name != "__main__"
            if is_source and (name not in before or (folder and Path(file).is_relative_to(folder))):
                _IMPORTED.setdefault(module, _digest(file))


def _forget_edited() -> None:
    """If a watched file was edited, remove all watched modules from `sys.modules`."""
    edited = [m for m, digest in list(_IMPORTED.items()) if _digest(str(m.__file__)) != digest]
    if not edited:
        return
    modules = list(sys.modules.items())
    watched = {name for name, module in modules if module in _IMPORTED}
    for name, module in modules:
        # Without its parent package, a namespace package cannot import its modules.
        is_namespace = getattr(module, "__file__", None) is None
        if name in watched or (is_namespace and name.partition(".")[0] in watched):
            del sys.modules[name]
            package, _, child = name.rpartition(".")
            if getattr(sys.modules.get(package), child, None) is module:
                delattr(sys.modules[package], child)  # `from package import child` would return it
    for (
        module
    ) in edited:  # Python would reuse the bytecode if the file's time and size are unchanged
        with suppress(OSError, TypeError):
            Path(getattr(module, "__cached__", None)).unlink()  # type: ignore[arg-type]
    _IMPORTED.clear()
    importlib.invalidate_caches()


def _digest(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return "cannot be read"
