"""Computes fingerprints of code. Code with equal fingerprints does the same.

A fingerprint covers a function, the functions that it calls and the constants that it reads, but not
their place in a file or their comments. There are two forms:

- `fingerprint` hashes the bytecode of one function, for compiled code. It raises if the function reads
  a value that has no stable fingerprint.
- `code_of` hashes anything: a program, a generator, an oracle. It hashes a function's source if
  available (`source.py`). Of other values it hashes more than the code reads. For a module or class, it
  hashes the source of its file and of the modules that this file imports. For an installed package, it
  hashes the version and the checksums of the files. For other objects, it hashes the content.

Neither covers what code reads while it runs (files, network, environment), nor modules that it imports
by a computed name.
"""

import ast
import dis
import functools
import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec, resolve_name
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from streamlab.workloads.model.code.source import (
    bytecode_identity,
    display_path,
    source_identity,
)

STABLE_MODULES = frozenset({"math", "numpy"})
"""Modules whose attributes change only with their version; other modules may hold a user's constants."""

_OURS = "streamlab"
_SHARED = (
    "streamlab.workloads.model",
    "streamlab.workloads.datasets",
    "streamlab.workloads.registry",
    "streamlab.engines",
    "streamlab.lab",
)
"""Packages that programs and oracles use as a library: only the functions that are read count."""

_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders in which packages are installed."""

_PLAIN = bool | int | float | complex | str | bytes | None | np.generic


class UnstableError(Exception):
    """Reports a function that depends on a value without a stable fingerprint."""


def fingerprint(function: Callable[..., Any], *, places: bool = False) -> str:
    """Return a hex digest of a function, the functions it calls and the constants it reads.

    With `places` it includes the files and lines that the function's errors name.

    Raises:
        UnstableError: It reads a global or closure variable of a kind that cannot be fingerprinted.
    """
    walk = _WithPlaces() if places else _Exact()
    _unwrap(function)  # raises if it is no Python function
    return _digest(walk.value("function", function, ""))


def code_of(*values: object) -> str:
    """Return a hex digest of functions, or of objects that hold functions, with all that they read.

    The digest is the same in every installation and Python version if the packages that are read are
    the same and the source of all functions is available. It may differ between two runs if a
    function reads an object without a stable content.
    """
    walk = _AnyValue()
    return _digest(piece for value in values for piece in walk.value("", value, ""))


def names_of(code: CodeType) -> set[str]:
    """Return the names of the globals and attributes that a function's code reads."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of(constant)
    return names


def is_user_module(module: str, file: str | None) -> bool:
    """Return whether a module is the user's: not Python's, the lab's or an installed package's."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == _OURS:
        return False
    # Path would be too slow: a user's workload may import thousands of modules.
    return _INSTALLED.isdisjoint((file or "").split(os.sep))  # noqa: PTH206


def _digest(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        digest.update(b"\0")
    return digest.hexdigest()


def _unwrap(function: Callable[..., Any]) -> FunctionType:
    function_object = getattr(function, "py_func", function)  # unwraps a Numba dispatcher
    if not isinstance(function_object, FunctionType):
        raise UnstableError(f"{function!r} is not a Python function")
    return function_object


class _Exact:
    """Walks over a function and the values it reads; raises at values without a stable fingerprint."""

    def __init__(self) -> None:
        # Numbers of visited values by id; holding the values keeps their ids unique.
        self._visited: dict[int, tuple[int, object]] = {}

    def visit(self, value: object) -> Iterator[bytes]:
        """Yield the number of a value that was visited before, else record it: values may refer to themselves."""
        if id(value) in self._visited:
            yield f"again {self._visited[id(value)][0]}".encode()
        else:
            self._visited[id(value)] = (len(self._visited), value)

    def function(self, function: FunctionType, home: str) -> Iterator[bytes]:
        """Yield the identity of a function that code of the module `home` calls."""
        if repeated := list(self.visit(function)):
            yield from repeated
            return
        home = function.__module__ or ""
        yield from self.code(function.__code__)
        yield from self.value("defaults", function.__defaults__, home)
        for name, value in sorted((function.__kwdefaults__ or {}).items()):
            yield from self.value(name, value, home)
        for name in sorted(names_of(function.__code__)):
            if name in function.__globals__:
                yield name.encode()
                yield from self.value(name, function.__globals__[name], home)
        around = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, around, strict=True):
            yield name.encode()
            yield from self.value(name, cell.cell_contents, home)

    def code(self, code: CodeType) -> Iterator[bytes]:
        """Yield the identity of a function's code."""
        yield from bytecode_identity(code)

    def value(self, name: str, value: object, home: str) -> Iterator[bytes]:
        """Yield the identity of a value that code of the module `home` reads as `name`."""
        if isinstance(value, _PLAIN):
            yield repr(value).encode()
        elif isinstance(value, tuple):
            yield repr((len(value), getattr(value, "_fields", None))).encode()
            for item in value:
                yield from self.value(name, item, home)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            yield repr((value.dtype, value.shape)).encode()
            yield value.tobytes()
        elif isinstance(value, ModuleType) and value.__name__ in STABLE_MODULES:
            yield repr((value.__name__, getattr(value, "__version__", None))).encode()
        elif isinstance(value, FunctionType) or hasattr(value, "py_func"):
            yield repr(getattr(value, "targetoptions", None)).encode()  # such as fastmath
            yield from self.function(_unwrap(value), home)  # type: ignore[arg-type]
        else:
            yield from self.other_value(name, value, home)

    def other_value(self, name: str, value: object, home: str) -> Iterator[bytes]:
        raise UnstableError(f"{name} is a {type(value).__name__}")


class _WithPlaces(_Exact):
    """Includes the place of functions, so that equal functions in other places differ."""

    def code(self, code: CodeType) -> Iterator[bytes]:
        yield from super().code(code)
        yield os.fsencode(f"{display_path(code.co_filename)}:{code.co_firstlineno}")
        yield code.co_linetable


class _AnyValue(_Exact):
    """Walks over any value; hashes all of it if the part that the code reads cannot be determined."""

    def code(self, code: CodeType) -> Iterator[bytes]:
        yield from source_identity(code)

    def function(self, function: FunctionType, home: str) -> Iterator[bytes]:
        module = function.__module__ or ""
        if not _is_foreign(module, home):
            if id(function) not in self._visited:
                for imported in _imports_at_run_time(function):
                    yield from self._imported(imported, module)
            yield from super().function(function, home)
        elif repeated := list(self.visit(function)):
            yield from repeated
        else:  # a library's closure may hold a user's values
            yield _reference(function, module)
            for cell in function.__closure__ or ():
                yield from self.value("", cell.cell_contents, module)

    def other_value(self, name: str, value: object, home: str) -> Iterator[bytes]:
        yield type(value).__qualname__.encode()
        if isinstance(value, np.dtype | range | slice | Path | Enum):
            yield repr(value).encode()
        elif isinstance(value, WeakKeyDictionary | WeakValueDictionary):
            pass  # A cache: its content depends on what the process did before.
        elif isinstance(value, Mapping | list | Set):
            yield from self._collection(name, value, home)
        elif isinstance(value, functools.partial):
            yield from self.value(name, (value.func, value.args, value.keywords), home)
        elif isinstance(value, MethodType):
            yield from self.value(name, (value.__func__, value.__self__), home)
        elif isinstance(value, ModuleType):
            yield from self._module(value, home)
        elif isinstance(value, type):
            yield from self._class(value, home)
        elif is_dataclass(value):
            yield from self._class(type(value), home)
            for part in fields(value):
                yield from self.value(part.name, getattr(value, part.name), home)
        elif hasattr(value, "__wrapped__"):
            yield from self.value(name, value.__wrapped__, home)
        elif repeated := list(self.visit(value)):
            yield from repeated
        else:
            yield from self._object(name, value, home)

    def _collection(self, name: str, value: Any, home: str) -> Iterator[bytes]:
        if repeated := list(self.visit(value)):
            yield from repeated
            return
        if isinstance(value, list):
            yield from self.value(name, tuple(value), home)
        elif isinstance(value, Mapping):
            for key in sorted(value, key=repr):
                yield repr(key).encode()
                yield from self.value(name, value[key], home)
        else:
            yield repr(sorted(map(repr, value))).encode()

    def _imported(self, name: str, home: str) -> Iterator[bytes]:
        """Yield the identity of an imported module, whether or not it has been loaded."""
        if _is_foreign_name(name, home) or _is_shared(name):
            yield _reference(None, name)
            return
        module = _load(name)
        if module is not None:
            yield from self._module(module, home)

    def _module(self, module: ModuleType, home: str) -> Iterator[bytes]:
        # By name, since the module may stand for one that has not been loaded.
        if _is_foreign_name(module.__name__, home) or _is_shared(module.__name__):
            yield _reference(None, module.__name__)
            return
        if repeated := list(self.visit(module)):
            yield from repeated
            return
        file = getattr(module, "__file__", None)
        source = Path(file).read_bytes() if file and Path(file).is_file() else b""
        yield source or b"without source"
        for name in _imports_of(source, module.__package__ or ""):
            yield from self._imported(name, module.__name__)
        for name, value in list(vars(module).items()):
            if name.startswith("__"):
                continue  # import metadata, which differs between installations
            owner = getattr(value, "__module__", None)
            owner_module = sys.modules.get(owner) if isinstance(owner, str) else None
            owner_module = value if isinstance(value, ModuleType) else owner_module
            if owner_module is not None and owner_module is not module:
                yield from self._module(owner_module, module.__name__)

    def _class(self, kind: type, home: str) -> Iterator[bytes]:
        yield kind.__qualname__.encode()
        module = sys.modules.get(kind.__module__)
        if module is not None:
            yield from self._module(module, home)

    def _object(self, name: str, value: object, home: str) -> Iterator[bytes]:
        yield from self._class(type(value), home)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            yield from self._collection(name, attributes, home)
            return
        try:
            yield pickle.dumps(value)
        except Exception:  # an object may raise anything; its class is already part of the digest
            yield b"untold"


def _imports_at_run_time(function: FunctionType) -> Iterator[str]:
    """Yield the full names of the modules that a function imports while it runs."""
    package = function.__globals__.get("__package__") or ""
    for name in sorted(_imports_within(function.__code__)):
        full = _full_name(name, package)
        if full is not None:
            yield full


def _full_name(name: str, package: str) -> str | None:
    """Return the full name of an imported module; None if importing it will fail."""
    try:
        return resolve_name(name, package)
    except ImportError:  # more dots than packages, or no package
        return None


def _load(name: str) -> ModuleType | None:
    """Import a module of the user or the lab; return None if that fails."""
    try:
        return import_module(name)
    except Exception:  # a module may raise anything; running the workload will report it
        return None


def _imports_within(code: CodeType) -> Set[str]:
    names, level = set(), 0
    for before, now in pairwise(dis.get_instructions(code)):
        if before.opname == "LOAD_CONST" and isinstance(before.argval, int):
            level = before.argval
        if now.opname == "IMPORT_NAME":
            names.add("." * level + now.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _imports_within(constant)
    return names


def _imports_of(source: bytes, package: str) -> tuple[str, ...]:
    """Return the full names of the imports in a module's source; some may not be modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = _full_name("." * node.level + (node.module or ""), package)
            if name is not None:
                names.update((name, *(f"{name}.{alias.name}" for alias in node.names)))
    return tuple(sorted(names))


def _is_shared(module: str) -> bool:
    """Return whether a module belongs to `_SHARED`, the packages that are only used as a library."""
    return any(module == name or module.startswith(f"{name}.") for name in _SHARED)


def _is_foreign(module: str, home: str) -> bool:
    """Return whether a module is Python's, or belongs to another installed package than `home` does."""
    top = module.partition(".")[0]
    if top == home.partition(".")[0] or top == _OURS:
        return False
    if top in sys.stdlib_module_names or top == "builtins":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not _INSTALLED.isdisjoint(Path(file).parts)


@functools.cache
def _is_foreign_name(module: str, home: str) -> bool:
    """Return `_is_foreign` for a module that may not have been loaded."""
    top = module.partition(".")[0]
    if module in sys.modules or top == home.partition(".")[0] or top == _OURS:
        return _is_foreign(module, home)
    if top in sys.stdlib_module_names:
        return True
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # a module without a specification
        return False
    return spec is not None and not is_user_module(top, spec.origin)


def _reference(value: object, module: str) -> bytes:
    """Return the full name of a value, with the version and files of its package."""
    top, *below = module.split(".")
    name = getattr(value, "__qualname__", None)
    if top in sys.stdlib_module_names:  # private modules differ between Python versions
        return repr((top, [part for part in below if not part.startswith("_")], name)).encode()
    files = "" if top in STABLE_MODULES or top == _OURS else _installed_digest(top)
    # A package's __version__ is available only after loading it; its files are there before.
    version = None if files else getattr(sys.modules.get(top), "__version__", None)
    return repr((module, name, str(version), files)).encode()


@functools.cache
def _installed_digest(package: str) -> str:
    """Return a digest of a package's files from its RECORD; empty without one."""
    lines = [
        line
        for name in sorted(set(packages_distributions().get(package, ())))
        for line in (distribution(name).read_text("RECORD") or "").splitlines()
        if line.startswith((f"{package}/", f"{package}.")) and ".pyc," not in line
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest() if lines else ""
