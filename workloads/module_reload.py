"""Forgets a user's modules when one of their files was edited, so that they are imported again.

A fresh process has what the files say; one that goes on, such as a notebook's, would keep what they
said when it first imported them.
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
"""The digests of files as they were when their modules were first seen here."""


def as_files_are(load: Callable[[], T]) -> T:
    """Return what `load` imports, from its files as they are now.

    All modules that were imported in this way before are forgotten when one of them was edited:
    others may hold what they took from it. Objects made of them stay as they are. A module that
    somebody else imported counts from the first time that one beside it is loaded here.
    """
    _forget_edited()
    before, loaded = set(sys.modules), None
    try:
        found = load()
        loaded = getattr(found, "__file__", None)
        return found
    finally:
        folder = None if loaded is None else Path(loaded).parent
        # Most calls import nothing, and there are thousands of modules.
        for name in sys.modules.keys() - before if folder is None else list(sys.modules):
            module = sys.modules.get(name)
            if module is None:
                continue  # an import of another thread has failed meanwhile
            file = getattr(module, "__file__", None) or ""
            named = file.endswith(".py") and is_user_module(name, file) and name != "__main__"
            if named and (name not in before or (folder and Path(file).is_relative_to(folder))):
                _IMPORTED.setdefault(module, _digest(file))


def _forget_edited() -> None:
    edited = [m for m, digest in list(_IMPORTED.items()) if _digest(str(m.__file__)) != digest]
    if not edited:
        return
    for name, module in list(sys.modules.items()):
        if module in _IMPORTED:
            del sys.modules[name]
            package, _, child = name.rpartition(".")
            if getattr(sys.modules.get(package), child, None) is module:
                delattr(sys.modules[package], child)  # `from package import child` would take it
    for module in edited:  # Python would take it for one of a file of this time and size
        with suppress(OSError, TypeError):
            Path(getattr(module, "__cached__", None)).unlink()  # type: ignore[arg-type]
    _IMPORTED.clear()
    importlib.invalidate_caches()


def _digest(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return "cannot be read"
