"""Measures how far the laws of a program are from holding for floats that round.

`check` tests laws on multiples of 1/4, whose sums are exact. Here they are tested again on tenths,
whose sums are not: two states, or outputs, that differ by rounding count as equal, and the largest
difference is recorded. A larger difference, or one of integers, breaks the law.
"""

import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from streamlab.workloads.model.answers.floats import HALF_OF_THE_DIGITS

LEAST = 0.1
"""The least number that is drawn, and the least that a difference is relative to."""

TENTHS = st.integers(1, 999).map(lambda n: n / 10)
"""Of one sign: where sums cancel, differences are relative to nearly nothing."""


def in_tenths(value: Any) -> Any:
    """Return a named tuple with its floats divided by ten."""
    floats = {
        name: part / 10
        for name, part in zip(value._fields, value, strict=True)
        if isinstance(part, float)
    }
    return value._replace(**floats)


@dataclass(slots=True)
class Rounding:
    """Records the differences by rounding.

    Attributes:
        unequal: the least relative difference of two floats that are not equal.
        largest: the largest relative difference below it.
    """

    unequal: float = HALF_OF_THE_DIGITS
    largest: float = 0.0

    def equal(self, a: Any, b: Any) -> bool:
        """Return whether two values, or sequences of values, are equal up to rounding."""
        found = _difference(a, b)
        if found < self.unequal:
            self.largest = max(self.largest, found)
        return found < self.unequal


def _difference(a: Any, b: Any) -> float:
    """Return the largest relative difference of floats; inf where anything else differs."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        if len(a) != len(b):
            return math.inf
        return max((_difference(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if a == b or (
        isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    ):
        return 0.0
    if not (isinstance(a, float) and isinstance(b, float) and math.isfinite(a - b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b), LEAST)
