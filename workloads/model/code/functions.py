"""Checks that a program's functions are plain functions, which do their work when called.

Calling a coroutine or generator function does nothing yet: every law would hold for a program of such
functions, and every answer would be empty.
"""

import inspect
from collections.abc import Callable
from typing import Any

from streamlab.workloads.model.errors import ProgramError

_KINDS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (inspect.iscoroutinefunction, "a coroutine function (async def)"),
    (inspect.isasyncgenfunction, "an asynchronous generator function (async def with yield)"),
    (inspect.isgeneratorfunction, "a generator function (it has a yield)"),
)


def require_plain(where: str, **functions: object) -> None:
    """Check the functions of a program, by role (None: absent); `where` is their place, for messages.

    Raises:
        ProgramError: A value is no function, or calling it would not do its work.
    """
    for role, function in functions.items():
        if function is None:
            continue
        if not callable(function):
            raise ProgramError(
                f"{where}: {role} is {function!r:.60}, a {type(function).__name__}; "
                "it must be a function"
            )
        # What may reveal a function's kind: itself, Numba's original, its `__call__`.
        forms: Any = (function, getattr(function, "py_func", None), function.__call__)
        for is_kind, kind in _KINDS:
            if any(is_kind(form) for form in forms):
                name = getattr(function, "__qualname__", repr(function))
                raise ProgramError(
                    f"{where}: {role} is {name}, {kind}; calling it does nothing: make it a plain "
                    "def that emits with out.emit(...)"
                )
