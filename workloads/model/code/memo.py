"""Keeps what a function has returned, and takes arguments that cannot be kept as well.

Strategies above all: Hypothesis validates each that it has not met before, which takes longer than
to draw from it, so those for a program are made once.

Programs are made by users: a list where a tuple would do, or a function that is an object of a
class with `==`, has no hash, and is no mistake.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def memo(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator as `lru_cache(most)`; without a hash the function is called again."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        kept = lru_cache(maxsize=most)(function)

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            try:
                hash((args, tuple(named.values())))
            except TypeError:
                return function(*args, **named)
            return kept(*args, **named)  # type: ignore[arg-type]  # they have a hash

        return call

    return decorate
