"""Compares aggregates and traces up to rounding.

The laws of monoids hold for real numbers, but floating-point addition rounds and so depends on its
order. Two floats count as equal if they differ by at most a billionth of the larger; a sum of a million
terms rounds by less. Integers and booleans must be equal exactly. If a program compares a sum to a
threshold, rounding may still appear as a violation.
"""

from typing import Any

from streamlab.workloads.model.dataflow.traces import Trace
from streamlab.workloads.model.dgs.rounding import integers_first, relative_difference

RELATIVE = 1e-9


def near(a: Any, b: Any) -> bool:
    """Return whether two values, or tuples of values, are equal up to rounding; NaN equals NaN."""
    return relative_difference(a, b) <= RELATIVE


def close(a: Trace, b: Trace) -> bool:
    """Return whether two traces are equal up to rounding.

    Unordered values are paired by their integers, then by their floats, so rounding may pair values
    wrongly and report a difference.
    """
    if a == b:
        return True
    return a.markers == b.markers and near(_in_order(a), _in_order(b))


def _in_order(data: Trace) -> tuple[Any, ...]:
    if data.type.ordered:
        return data.blocks
    return tuple(
        tuple((key, tuple(sorted(map(tuple, values), key=integers_first))) for key, values in block)
        for block in data.blocks
    )
