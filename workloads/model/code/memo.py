"""Caches the results of a function, and accepts unhashable arguments too.

Mostly for Hypothesis strategies: validating a new strategy takes longer than drawing from it, so the
strategies of a program are made once.

Programs may validly hold unhashable values, such as a list in place of a tuple, or a callable object
of a class with `==`.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def memo(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like `lru_cache(most)` that does not cache calls with unhashable arguments."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(maxsize=most)(function)

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            try:
                hash((args, tuple(named.values())))
            except TypeError:
                return function(*args, **named)
            return cached(*args, **named)  # type: ignore[arg-type]  # they are hashable

        return call

    return decorate
