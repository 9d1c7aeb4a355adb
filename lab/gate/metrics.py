"""Defines results of trials and metrics for a gate; a metric is a cost: larger is worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a trial that a gate reads, as in `streamlab.results.schema.TrialRow`.

    A field without a value is None, for example if an arm's older revision lacks the column.
    """

    status: str | None = None
    reason: str | None = None
    steady: str | None = None
    steady_reason: str | None = None
    checked_by: str | None = None
    offered_eps: float | None = None
    events: int | None = None
    duration_s: float | None = None
    cpu_s: float | None = None
    latency_count: int | None = None
    latency_p50_ns: int | None = None
    latency_p99_ns: int | None = None
    peak_rss_bytes: int | None = None
    energy_j_per_1000: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The trials of one cell in both arms.

    Attributes:
        same_load: whether the two trials at an index ran one after the other under a load with equal
            due times. Then latencies are compared in pairs.
    """

    old: Sequence[TrialResult]
    new: Sequence[TrialResult]
    same_load: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A cost of a trial.

    Attributes:
        name: name on the command line.
        about: description with the unit.
        column: column of `TrialResult`.
        per_event: whether the cost is the column divided by the number of events.
        quantile: quantile of the outputs' latencies; None if the metric is not a latency.
    """

    name: str
    about: str
    column: str
    per_event: bool = False
    quantile: float | None = None

    def cost(self, trial: TrialResult) -> float | None:
        """Return the cost of a trial; None without a value.

        A value of 0, such as a CPU time below the clock's step, counts as missing.
        """
        value: float | None = getattr(trial, self.column)
        divisor = trial.events if self.per_event else 1
        return value / divisor if value and divisor else None


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="wall", about="seconds per event, timed part", column="duration_s", per_event=True
        ),
        Metric(
            name="cpu", about="CPU-seconds per event, whole tree", column="cpu_s", per_event=True
        ),
        Metric(name="p50", about="median latency, ns", column="latency_p50_ns", quantile=0.5),
        Metric(
            name="p99",
            about="99th percentile of latency, ns",
            column="latency_p99_ns",
            quantile=0.99,
        ),
        Metric(name="rss", about="peak memory, bytes", column="peak_rss_bytes"),
        Metric(name="energy", about="gross J per 1,000 events", column="energy_j_per_1000"),
    )
}

DEFAULT_METRICS = ("wall", "cpu")
"""Metrics gated by default; a doubt about any of these makes a gate inconclusive."""

IF_REPEATABLE = ("rss", "p99")
"""Metrics gated by default in cells where the values repeat."""

INSTRUCTIONS = "instructions"
"""A metric that is counted, not timed; see `streamlab.lab.gate.instructions`."""
