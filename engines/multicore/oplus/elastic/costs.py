"""Estimates what a tuple and a comparison cost from busy time, tuples and comparisons."""

_TUPLE_IN_COMPARISONS = 100.0
"""First guess of how many comparisons a join's tuple costs: to take it from the log and to move the
window, against one step of a vectorised loop. Wrong by a factor of ten it is forgotten within some
tens of looks, since windows fill and rates change."""
_STEP = 0.3
"""Share of an interval's misfit that is corrected at once: averages over about three intervals."""


class CostFit:
    """Costs per tuple and per comparison, kept up to date.

    A join's instances all read every tuple and share the comparisons. An interval with n instances,
    t tuples and c comparisons is therefore busy for

        busy = n * t * tuple_s + c * comparison_s    (seconds, over all instances)

    One interval does not tell the two apart, and intervals of a steady state never do. Each is a
    line in the plane of the two costs, to which the estimate moves by the smallest relative change
    (a projection, as in Kaczmarz's method, in units of each term's share of the time): what a term
    that does not weigh costs is left alone. Where intervals of different kinds follow each other
    the estimate goes to where their lines meet; where they do not, the sum stays right, and the two
    parts are as good as they were.

    Operators without comparisons have one cost per tuple, over all instances.

    Attributes:
        tuple_s, comparison_s: seconds; None until there was a busy interval.
    """

    def __init__(self) -> None:
        self.tuple_s: float | None = None
        self.comparison_s: float | None = None

    def learn(self, busy_s: float, instances: int, tuples: int, comparisons: int | None) -> None:
        """Take one interval into account; one in which nothing was done says nothing."""
        if busy_s <= 0.0 or tuples <= 0:
            return
        if comparisons is None:
            seen = busy_s / tuples
            self.tuple_s = (
                seen if self.tuple_s is None else self.tuple_s + _STEP * (seen - self.tuple_s)
            )
            return
        reads = instances * tuples
        if self.tuple_s is None or self.comparison_s is None:
            self.comparison_s = busy_s / (reads * _TUPLE_IN_COMPARISONS + comparisons)
            self.tuple_s = self.comparison_s * _TUPLE_IN_COMPARISONS
            return
        reading, comparing = reads * self.tuple_s, comparisons * self.comparison_s
        expected = reading + comparing
        # Relative changes (a, b) with a * reading + b * comparing = misfit, and a^2 + b^2 least.
        misfit = _STEP * (busy_s - expected)
        weight = misfit / (reading * reading + comparing * comparing)
        # An estimate never falls to 0 or below, from which no relative change would lift it.
        self.tuple_s *= max(0.5, 1.0 + weight * reading)
        self.comparison_s *= max(0.5, 1.0 + weight * comparing)
