"""Parses and checks latency objectives of sustained rates, e.g. `p99 <= 10ms`."""

import re
from dataclasses import dataclass

from streamlab.lab.measure.latency import Percentiles

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
_NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_FORM = re.compile(r"\s*(p50|p90|p99|p99\.9|max)\s*<=\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s)\s*")

EXPECTED = f"`<one of {', '.join(PERCENTILES)}> <= <number><ns|us|ms|s>`, e.g. `p99 <= 10ms`"
"""The expected form of an objective, for error messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """An upper bound of one percentile."""

    percentile: str
    bound_ns: int

    def value_ns(self, percentiles: Percentiles) -> int | None:
        """Return the objective's percentile; None with too few samples."""
        value_ns: int | None = getattr(percentiles, f"{self.percentile.replace('.', '')}_ns")
        return value_ns

    def holds(self, percentiles: Percentiles) -> bool | None:
        """Return whether the percentile is within the bound; None with too few samples."""
        value_ns = self.value_ns(percentiles)
        return None if value_ns is None else value_ns <= self.bound_ns


def parse_objective(text: str) -> Objective:
    """Parse an objective.

    Raises:
        ValueError: `text` is not an objective; the message has the expected form.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a latency objective; expected {EXPECTED}")
    percentile, number, unit = match.groups()
    bound_ns = round(float(number) * _NS_PER_UNIT[unit])
    if bound_ns == 0:
        raise ValueError(f"{text!r} has a bound of 0; the bound must be at least 1ns")
    return Objective(percentile=percentile, bound_ns=bound_ns)
