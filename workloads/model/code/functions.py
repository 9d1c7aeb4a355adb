"""Checks that a program's functions are plain functions, and memoizes functions.

Calling a coroutine or generator function runs none of its code. Every law would hold for a program of
such functions, and every answer would be empty.
"""

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from streamlab.workloads.model.errors import ProgramError

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (inspect.iscoroutinefunction, "a coroutine function (async def)"),
    (inspect.isasyncgenfunction, "an asynchronous generator function (async def with yield)"),
    (inspect.isgeneratorfunction, "a generator function (it has a yield)"),
)


def require_plain(where: str, **functions: object) -> None:
    """Check a program's functions, given by role; None means absent. `where` names the program in messages.

    Raises:
        ProgramError: A value is not a function, or calling it would not do its work.
    """
    for role, function in functions.items():
        if function is None:
            continue
        if not callable(function):
            raise ProgramError(
                f"{where}: {role} is {function!r:.60}, a {type(function).__name__}; "
                "it must be a function"
            )
        # The function, the original of a Numba function, or `__call__` may reveal the kind.
        candidates: Any = (function, getattr(function, "py_func", None), function.__call__)
        for is_kind, kind in _KINDS:
            if any(is_kind(candidate) for candidate in candidates):
                name = getattr(function, "__qualname__", repr(function))
                raise ProgramError(
                    f"{where}: {role} is {name}, {kind}; calling it does nothing: make it a plain "
                    "def that emits with out.emit(...)"
                )


def memo(max_size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like `lru_cache(max_size)` that does not cache calls with unhashable arguments.

    Mostly for Hypothesis strategies: validating a new strategy takes longer than drawing from it.
    Programs may validly hold unhashable values, such as a list in place of a tuple.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(maxsize=max_size)(function)

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            try:
                hash((args, tuple(named.values())))
            except TypeError:
                return function(*args, **named)
            return cached(*args, **named)  # type: ignore[arg-type]  # they are hashable

        return call

    return decorate
