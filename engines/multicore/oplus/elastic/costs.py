"""Estimates the costs of a tuple and of a comparison from busy times and counts."""

_TUPLE_IN_COMPARISONS = 100.0
"""Initial cost of a join's tuple (reading it and moving the window) in comparisons (steps of a vector loop).
An error by a factor of ten disappears within some tens of intervals, since windows fill and rates change."""
_STEP = 0.3
"""Share of an interval's misfit that is corrected; averages over about three intervals."""


class CostFit:
    """Running estimates of the costs per tuple and per comparison.

    All instances of a join read every tuple, and share the comparisons. An interval with n instances,
    t tuples and c comparisons is therefore busy for

        busy = n * t * tuple_s + c * comparison_s    (seconds, over all instances)

    One interval cannot separate the two costs, and neither can several of a steady state. Each interval
    is a line in the plane of the two costs. The estimate moves to it by the smallest relative change (a
    projection as in Kaczmarz's method, in units of each term's share of the time), so a term with a small
    share barely changes. Intervals of different kinds move the estimate to the intersection of their lines.
    With equal ones the sum is correct, and the ratio of the costs stays.

    Operators without comparisons have one cost per tuple, over all instances.

    Attributes:
        tuple_s: cost of a tuple in seconds; None before the first busy interval.
        comparison_s: cost of a comparison in seconds; None before the first busy interval.
    """

    def __init__(self) -> None:
        self.tuple_s: float | None = None
        self.comparison_s: float | None = None

    def learn(self, busy_s: float, instances: int, tuples: int, comparisons: int | None) -> None:
        """Update the costs from one interval; intervals without work are ignored."""
        if busy_s <= 0.0 or tuples <= 0:
            return
        if comparisons is None:
            cost_s = busy_s / tuples
            self.tuple_s = (
                cost_s if self.tuple_s is None else self.tuple_s + _STEP * (cost_s - self.tuple_s)
            )
            return
        reads = instances * tuples
        if self.tuple_s is None or self.comparison_s is None:
            self.comparison_s = busy_s / (reads * _TUPLE_IN_COMPARISONS + comparisons)
            self.tuple_s = self.comparison_s * _TUPLE_IN_COMPARISONS
            return
        reading, comparing = reads * self.tuple_s, comparisons * self.comparison_s
        expected = reading + comparing
        # Relative changes (a, b) with a * reading + b * comparing = misfit, and minimal a^2 + b^2.
        misfit = _STEP * (busy_s - expected)
        weight = misfit / (reading * reading + comparing * comparing)
        # Keep estimates above 0, since no relative change would raise them again.
        self.tuple_s *= max(0.5, 1.0 + weight * reading)
        self.comparison_s *= max(0.5, 1.0 + weight * comparing)
