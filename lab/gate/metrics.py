"""Defines the metrics of gates: costs of a trial, where larger is worse."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A cost of a trial.

    Attributes:
        name: name on the command line.
        about: description with the unit.
        cost: returns the cost of a trial; None if the trial has no such value.
        quantile: quantile of the outputs' latencies; None if the metric is not a latency.
    """

    name: str
    about: str
    cost: Callable[[Result], float | None]
    quantile: float | None = None


def _per_event(column: str) -> Callable[[Result], float | None]:
    def cost(result: Result) -> float | None:
        value, events = result.get(column), result.get("events")
        return value / events if value and events else None

    return cost


def _column(column: str) -> Callable[[Result], float | None]:
    def cost(result: Result) -> float | None:
        value = result.get(column)
        return float(value) if value else None

    return cost


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="wall", about="seconds per event, timed part", cost=_per_event("duration_s")),
        Metric(name="cpu", about="CPU-seconds per event, whole tree", cost=_per_event("cpu_s")),
        Metric(
            name="p50",
            about="median latency, ns",
            cost=_column("latency_p50_ns"),
            quantile=0.5,
        ),
        Metric(
            name="p99",
            about="99th percentile of latency, ns",
            cost=_column("latency_p99_ns"),
            quantile=0.99,
        ),
        Metric(name="rss", about="peak memory, bytes", cost=_column("peak_rss_bytes")),
        Metric(name="energy", about="gross J per 1,000 events", cost=_column("energy_j_per_1000")),
    )
}
"""Metrics by name. A value of 0, such as a CPU time below the clock's step, counts as missing."""

DEFAULT_METRICS = ("wall", "cpu")
"""Metrics gated by default; a doubt about one makes a gate inconclusive."""

IF_REPEATABLE = ("rss", "p99")
"""Metrics gated by default in cells where they repeat."""

INSTRUCTIONS = "instructions"
"""A metric that is counted, not timed; see `streamlab.lab.gate.instructions`."""
