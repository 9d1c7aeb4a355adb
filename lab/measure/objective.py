"""A condition on the latency at a sustained rate, e.g. `p99 <= 10ms`."""

import re
from dataclasses import dataclass

from streamlab.lab.measure.latency import Percentiles

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
_NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_FORM = re.compile(r"\s*(p50|p90|p99|p99\.9|max)\s*<=\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s)\s*")

EXPECTED = f"`<one of {', '.join(PERCENTILES)}> <= <number><ns|us|ms|s>`, e.g. `p99 <= 10ms`"
"""What a good objective is, in words for an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """An upper bound of one percentile.

    Attributes:
        percentile: one of PERCENTILES.
        bound_ns: the highest value that is good.
    """

    percentile: str
    bound_ns: int

    def value_ns(self, percentiles: Percentiles) -> int | None:
        """Return the percentile that the objective is about; None with too few samples."""
        found: int | None = getattr(percentiles, f"{self.percentile.replace('.', '')}_ns")
        return found

    def holds(self, percentiles: Percentiles) -> bool | None:
        """Return whether the bound is kept; None when there are too few samples to say."""
        value_ns = self.value_ns(percentiles)
        return None if value_ns is None else value_ns <= self.bound_ns


def parse_objective(text: str) -> Objective:
    """Parse an objective.

    Raises:
        ValueError: it is not one; the message says what one is.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no latency objective; expected {EXPECTED}")
    percentile, number, unit = found.groups()
    bound_ns = round(float(number) * _NS_PER_UNIT[unit])
    if bound_ns == 0:
        raise ValueError(f"{text!r} allows no latency at all; the bound must be at least 1ns")
    return Objective(percentile=percentile, bound_ns=bound_ns)
