"""Fingerprints of functions: equal only if the compiled code would be.

Numba's own cache looks at a function's source file, not at what the function calls or at the
constants it reads; a kernel inlines a user's function, so both matter. A function that reads
something whose value cannot be fingerprinted is compiled anew in every process.
"""

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

STABLE_MODULES = frozenset({"math", "numpy"})
"""Modules whose attributes change with their version only; others may hold a user's constants."""


class UnstableError(Exception):
    """The function depends on a value that has no stable fingerprint."""


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a hex digest of a function, what it calls and the constants it reads.

    Raises:
        UnstableError: it reads a global or closure variable of a kind that cannot be fingerprinted.
    """
    digest = hashlib.sha256()
    for piece in _function(_plain(function), set()):
        digest.update(piece)
        digest.update(b"\0")
    return digest.hexdigest()


def _plain(function: Callable[..., Any]) -> FunctionType:
    plain = getattr(function, "py_func", function)  # a Numba dispatcher wraps one
    if not isinstance(plain, FunctionType):
        raise UnstableError(f"{function!r} is not a Python function")
    return plain


def _function(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _code(function.__code__)
    yield repr((function.__defaults__, function.__kwdefaults__)).encode()
    for name in sorted(names_of(function.__code__)):
        if name in function.__globals__:
            yield name.encode()
            yield from _value(name, function.__globals__[name], seen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name.encode()
        yield from _value(name, cell.cell_contents, seen)


def names_of(code: CodeType) -> set[str]:
    """Return the names that a function's code reads: globals, and attributes."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of(constant)
    return names


def _code(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(constant).encode()


def _value(name: str, value: object, seen: set[int]) -> Iterator[bytes]:
    if isinstance(value, bool | int | float | complex | str | bytes | None | np.generic):
        yield repr(value).encode()
    elif isinstance(value, tuple):
        for item in value:
            yield from _value(name, item, seen)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.dtype, value.shape)).encode()
        yield value.tobytes()
    elif isinstance(value, ModuleType) and value.__name__ in STABLE_MODULES:
        yield repr((value.__name__, getattr(value, "__version__", None))).encode()
    elif isinstance(value, FunctionType) or hasattr(value, "py_func"):
        yield repr(getattr(value, "targetoptions", None)).encode()  # fastmath and its like
        yield from _function(_plain(value), seen)  # type: ignore[arg-type]
    else:
        raise UnstableError(f"{name} is a {type(value).__name__}")
