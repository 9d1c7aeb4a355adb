"""Equality up to rounding, of aggregates and of traces.

The laws of monoids are those of real numbers; floating-point addition rounds, and so depends on the
order in which it is done. Two floats count as equal when they differ by at most a billionth of the
larger: a sum of a million terms rounds by less. Integers and booleans must be equal exactly. Where
a program compares a sum to a threshold, rounding may still be seen: it errs towards a violation.
"""

import math
from typing import Any

from streamlab.workloads.model.dataflow.traces import Trace

RELATIVE = 1e-9


def near(a: Any, b: Any) -> bool:
    """Return whether two values, or tuples of values, are equal up to rounding; NaN equals NaN."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        both_nan = math.isnan(a) and math.isnan(b)
        return both_nan or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(a == b)


def close(a: Trace, b: Trace) -> bool:
    """Return whether two traces are equal up to rounding.

    Where no order is given, values are compared in the order of their integers, then of their
    floats: two that differ only within rounding may then be taken for different.
    """
    if a == b:
        return True
    return a.markers == b.markers and near(_in_order(a), _in_order(b))


def _in_order(of: Trace) -> tuple[Any, ...]:
    if of.of.ordered:
        return of.blocks
    return tuple(
        tuple(
            (key, tuple(sorted(map(tuple, values), key=_integers_first))) for key, values in block
        )
        for block in of.blocks
    )


def _integers_first(value: tuple[Any, ...]) -> tuple[Any, ...]:
    floats = [field for field in value if isinstance(field, float)]
    rest = [field for field in value if not isinstance(field, float)]
    return *rest, *((math.isnan(field), field) for field in floats)
