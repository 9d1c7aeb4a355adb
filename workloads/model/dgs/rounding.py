"""Measures how much rounding of floats violates the laws of a program.

`check` tests laws on multiples of 1/4, whose sums are exact. `Rounding` tests them again on tenths,
whose sums round. States or outputs that differ by rounding count as equal, and the largest difference
is recorded. A larger difference, or one of integers, breaks the law.
"""

import math
from dataclasses import dataclass
from typing import Any

from streamlab.workloads.model.answers.floats import HALF_OF_THE_DIGITS

LEAST = 0.1
"""The smallest number that `check` draws, and the smallest base of a relative difference."""


def in_tenths(value: Any) -> Any:
    """Return a named tuple with its floats divided by ten."""
    floats = {
        name: part / 10
        for name, part in zip(value._fields, value, strict=True)
        if isinstance(part, float)
    }
    return value._replace(**floats)


def integers_first(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a sort key with a row's integers first, so that rounding hardly changes the order; NaN comes last."""
    floats = [value for value in row if isinstance(value, float)]
    rest = [value for value in row if not isinstance(value, float)]
    return *rest, *((math.isnan(value), value) for value in floats)


@dataclass(slots=True)
class Rounding:
    """Records the differences by rounding.

    Attributes:
        unequal: Floats with this relative difference or a larger one are unequal.
        largest: The largest relative difference so far that is below `unequal`.
    """

    unequal: float = HALF_OF_THE_DIGITS
    largest: float = 0.0

    def equal(self, a: Any, b: Any) -> bool:
        """Return whether two values, or sequences of values, are equal up to rounding."""
        difference = relative_difference(a, b)
        if difference < self.unequal:
            self.largest = max(self.largest, difference)
        return difference < self.unequal


def relative_difference(a: Any, b: Any) -> float:
    """Return the largest relative difference of floats; inf if other values differ."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        if len(a) != len(b):
            return math.inf
        return max((relative_difference(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if a == b or (
        isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    ):
        return 0.0
    if not (isinstance(a, float) and isinstance(b, float) and math.isfinite(a - b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b), LEAST)
