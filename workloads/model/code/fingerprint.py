"""Fingerprints of code: equal only if running it would do the same.

Functions are taken with what they call and with the constants that they read, wherever these stand;
their own place and their comments count for nothing. Two forms of it:

- `fingerprint` of one function, by its bytecode, for compiled code. A function that reads something
  whose value cannot be told has none.
- `code_of` anything: a program, a generator, an oracle. Functions are told by their source where it
  is there (`source.py`). What cannot be told function by function is told by more than is read: a
  module or class by the source of its whole file and of the modules that it imports, a package that
  is installed beside it by its version and the checksums of its files as installed, other objects
  by what they hold.

What code reads while it runs (a file, the network, the environment) is not seen, nor a module that
it imports by a name that it has computed.
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

import numpy as np

from streamlab.workloads.model.code.location import shown_file
from streamlab.workloads.model.code.source import compiled, written

STABLE_MODULES = frozenset({"math", "numpy"})
"""Modules whose attributes change with their version only; others may hold a user's constants."""

_OURS = "streamlab"
_SHARED = (
    "streamlab.workloads.model",
    "streamlab.workloads.datasets",
    "streamlab.workloads.registry",
    "streamlab.engines",
    "streamlab.lab",
)
"""What programs and oracles are written in; where one of its functions is read, that counts."""

_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders in which packages are installed."""

_PLAIN = bool | int | float | complex | str | bytes | None | np.generic


class UnstableError(Exception):
    """The function depends on a value that has no stable fingerprint."""


def fingerprint(function: Callable[..., Any], *, places: bool = False) -> str:
    """Return a hex digest of a function, what it calls and the constants it reads.

    Args:
        function: the function; or one that Numba has compiled.
        places: whether the files and lines count of which its errors speak.

    Raises:
        UnstableError: it reads a global or closure variable of a kind that cannot be fingerprinted.
    """
    walk = _Placed() if places else _Exact()
    _plain(function)  # or it is refused
    return _digest(walk.value("function", function, ""))


def code_of(*values: object) -> str:
    """Return a hex digest of functions, or of what is made of functions, with all that they read.

    It is the same in every installation of the lab, under every version of Python, if the packages
    that are read are the same and the source of all functions is there. It may differ between two
    runs where what is read cannot be told apart otherwise.
    """
    walk = _Whole()
    return _digest(piece for value in values for piece in walk.value("", value, ""))


def names_of(code: CodeType) -> set[str]:
    """Return the names that a function's code reads: globals, and attributes."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of(constant)
    return names


def is_a_users(module: str, file: str | None) -> bool:
    """Tell whether a module is neither Python's nor the lab's nor of an installed package."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == _OURS:
        return False
    # Not by Path: a user's workload has thousands of modules looked at.
    return _INSTALLED.isdisjoint((file or "").split(os.sep))  # noqa: PTH206


def _digest(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        digest.update(b"\0")
    return digest.hexdigest()


def _plain(function: Callable[..., Any]) -> FunctionType:
    plain = getattr(function, "py_func", function)  # a Numba dispatcher wraps one
    if not isinstance(plain, FunctionType):
        raise UnstableError(f"{function!r} is not a Python function")
    return plain


class _Exact:
    """Walks over a function and what it reads, and refuses what it cannot tell."""

    def __init__(self) -> None:
        self._met: dict[int, tuple[int, object]] = {}  # ids are theirs while they are

    def again(self, value: object) -> Iterator[bytes]:
        """Yield which one it is of those that were met before; it may refer to itself."""
        if id(value) in self._met:
            yield f"again {self._met[id(value)][0]}".encode()
        else:
            self._met[id(value)] = (len(self._met), value)

    def function(self, function: FunctionType, home: str) -> Iterator[bytes]:
        """Yield what tells a function that code of the module `home` calls."""
        if seen := list(self.again(function)):
            yield from seen
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
        """Yield what tells a function's code."""
        yield from compiled(code)

    def value(self, name: str, value: object, home: str) -> Iterator[bytes]:
        """Yield what tells a value that code of the module `home` reads as `name`."""
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
            yield repr(getattr(value, "targetoptions", None)).encode()  # fastmath and its like
            yield from self.function(_plain(value), home)  # type: ignore[arg-type]
        else:
            yield from self.other(name, value, home)

    def other(self, name: str, value: object, home: str) -> Iterator[bytes]:
        raise UnstableError(f"{name} is a {type(value).__name__}")


class _Placed(_Exact):
    """Tells functions apart that are the same but for where they stand."""

    def code(self, code: CodeType) -> Iterator[bytes]:
        yield from super().code(code)
        yield os.fsencode(f"{shown_file(code.co_filename)}:{code.co_firstlineno}")
        yield code.co_linetable


class _Whole(_Exact):
    """Walks over anything, and takes in more than is read where it cannot tell."""

    def code(self, code: CodeType) -> Iterator[bytes]:
        yield from written(code)

    def function(self, function: FunctionType, home: str) -> Iterator[bytes]:
        module = function.__module__ or ""
        if not _is_foreign(module, home):
            if id(function) not in self._met:
                for imported in _imported(function):
                    yield from self._imported(imported, module)
            yield from super().function(function, home)
        elif seen := list(self.again(function)):
            yield from seen
        else:  # it may hold what a user gave to it
            yield _called(function, module)
            for cell in function.__closure__ or ():
                yield from self.value("", cell.cell_contents, module)

    def other(self, name: str, value: object, home: str) -> Iterator[bytes]:
        yield type(value).__qualname__.encode()
        if isinstance(value, np.dtype | range | slice | Path | Enum):
            yield repr(value).encode()
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
        elif seen := list(self.again(value)):
            yield from seen
        else:
            yield from self._object(name, value, home)

    def _collection(self, name: str, value: Any, home: str) -> Iterator[bytes]:
        if seen := list(self.again(value)):
            yield from seen
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
        """Yield what tells a module that is imported, whether it has been loaded by now or not."""
        if _is_foreign_name(name, home) or _is_what_all_share(name):
            yield _called(None, name)
            return
        module = _module_named(name)
        if module is not None:
            yield from self._module(module, home)

    def _module(self, module: ModuleType, home: str) -> Iterator[bytes]:
        if _is_foreign(module.__name__, home) or _is_what_all_share(module.__name__):
            yield _called(None, module.__name__)
            return
        if seen := list(self.again(module)):
            yield from seen
            return
        file = getattr(module, "__file__", None)
        source = Path(file).read_bytes() if file and Path(file).is_file() else b""
        yield source or b"without source"
        for name in _imports_of(source, module.__package__ or ""):
            yield from self._imported(name, module.__name__)
        for name, value in list(vars(module).items()):
            if name.startswith("__"):
                continue  # how it was loaded, which differs from one installation to another
            used = value if isinstance(value, ModuleType) else _module_of(value)
            if used is not None and used is not module:
                yield from self._module(used, module.__name__)

    def _class(self, kind: type, home: str) -> Iterator[bytes]:
        yield kind.__qualname__.encode()
        module = sys.modules.get(kind.__module__)
        if module is not None:
            yield from self._module(module, home)

    def _object(self, name: str, value: object, home: str) -> Iterator[bytes]:
        yield from self._class(type(value), home)
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            yield from self._collection(name, held, home)
            return
        try:
            yield pickle.dumps(value)
        except Exception:  # whatever an object does that cannot be told: its class has been
            yield b"untold"


def _imported(function: FunctionType) -> Iterator[str]:
    """Yield the full names of the modules that a function imports while it runs."""
    package = function.__globals__.get("__package__") or ""
    for name in sorted(_imports_within(function.__code__)):
        full = _full_name(name, package)
        if full is not None:
            yield full


def _full_name(name: str, package: str) -> str | None:
    """Return the full name of what is imported; None: there is none, and importing it will fail."""
    try:
        return resolve_name(name, package)
    except ImportError:  # more dots than packages, or no package
        return None


def _module_named(name: str) -> ModuleType | None:
    """Return a module of a user's or the lab's, which is imported now; None: there is none."""
    try:
        return import_module(name)
    except Exception:  # whatever a module does when it is imported; running it will tell
        return None


def _imports_within(code: CodeType) -> Set[str]:
    found, level = set(), 0
    for before, now in pairwise(dis.get_instructions(code)):
        if before.opname == "LOAD_CONST" and isinstance(before.argval, int):
            level = before.argval
        if now.opname == "IMPORT_NAME":
            found.add("." * level + now.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _imports_within(constant)
    return found


def _imports_of(source: bytes, package: str) -> tuple[str, ...]:
    """Return the full names of what a module's source imports, and may be modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = _full_name("." * node.level + (node.module or ""), package)
            if name is not None:
                found.update((name, *(f"{name}.{alias.name}" for alias in node.names)))
    return tuple(sorted(found))


def _module_of(value: object) -> ModuleType | None:
    name = getattr(value, "__module__", None)
    return sys.modules.get(name) if isinstance(name, str) else None


def _is_what_all_share(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _SHARED)


def _is_foreign(module: str, home: str) -> bool:
    """Tell whether a module is Python's, or of an installed package that `home` is not of."""
    top = module.partition(".")[0]
    if top == home.partition(".")[0] or top == _OURS:
        return False
    if top in sys.stdlib_module_names or top == "builtins":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not _INSTALLED.isdisjoint(Path(file).parts)


@functools.cache
def _is_foreign_name(module: str, home: str) -> bool:
    """Tell the same of a module that may not have been loaded."""
    top = module.partition(".")[0]
    if module in sys.modules or top == home.partition(".")[0] or top == _OURS:
        return _is_foreign(module, home)
    if top in sys.stdlib_module_names:
        return True
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # a module without a specification
        return False
    return spec is not None and not is_a_users(top, spec.origin)


def _called(value: object, module: str) -> bytes:
    """Return the full name of something, and what tells the package that has it."""
    top, *below = module.split(".")
    name = getattr(value, "__qualname__", None)
    if top in sys.stdlib_module_names:  # its private modules differ from version to version
        return repr((top, [part for part in below if not part.startswith("_")], name)).encode()
    files = "" if top in STABLE_MODULES or top == _OURS else _installed(top)
    # What a package says of itself is known once it has been loaded; its files are there before.
    version = None if files else getattr(sys.modules.get(top), "__version__", None)
    return repr((module, name, str(version), files)).encode()


@functools.cache
def _installed(package: str) -> str:
    """Return a digest of a package's files, as its record has them; empty where it has none."""
    lines = [
        line
        for name in sorted(set(packages_distributions().get(package, ())))
        for line in (distribution(name).read_text("RECORD") or "").splitlines()
        if line.startswith((f"{package}/", f"{package}.")) and ".pyc," not in line
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest() if lines else ""
