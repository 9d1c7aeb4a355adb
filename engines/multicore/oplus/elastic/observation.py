"""Defines the counters of an elastic operator, and derives observations and costs for controllers from them."""

from dataclasses import dataclass, field

from streamlab.engines.multicore.oplus.elastic.mapping import IntArray

NS_PER_S = 1_000_000_000
_TUPLE_IN_COMPARISONS = 100.0
"""Initial cost of a join's tuple (reading it and moving the window) in comparisons (steps of a vector loop).
An error by a factor of ten disappears within some tens of intervals, since windows fill and rates change."""
_STEP = 0.3
"""Share of an interval's misfit that is corrected at once, so that estimates average over about three intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSnapshot:
    """Counters of an operator at one instant; all but `active` and `windows` never decrease.

    Attributes:
        time_ns: time after the start of the timed part.
        active: indices of the active instances, ascending.
        busy_ns: for each instance, active or not: time in which the instance did not wait.
        processed: by input: tuples that every active instance has processed.
        arrived: by input: tuples that have arrived; under an offered load those that are due, even
            if back-pressure delays them. None if the run does not count them.
        windows: by input: tuples in the window; None unless the operator is a join.
        comparisons: pairs compared by all instances; None unless the operator is a join.
    """

    time_ns: int
    active: tuple[int, ...]
    busy_ns: tuple[int, ...]
    processed: tuple[int, ...]
    arrived: tuple[int, ...] | None = None
    windows: tuple[int, ...] | None = None
    comparisons: int | None = None

    @property
    def instances(self) -> int:
        """Number of active instances."""
        return len(self.active)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The interval since the last observation, in which instances and mapping did not change.

    Costs are None before they are measured. `arrived`, `offered_eps` and `pending` are None if the run does
    not count arriving tuples, and `windows` and `comparison_s` unless the operator is a join.

    Attributes:
        time_s: current time, after the start of the timed part.
        span_s: length of the interval, above 0.
        active: indices of the active instances, ascending.
        minimum, maximum: bounds of the number of active instances.
        mapping: int64[buckets], the instance of each bucket of the first operator; read-only.
        busy: for each active instance, in the order of `active`: share of `span_s` without waiting, in [0, 1].
        offered_eps, processed_eps: by input: arriving and processed t/s.
        arrived, pending: by input: tuples that arrived since the start, and those not processed.
        windows: by input: tuples in the window, whose size on the clock of `time_s` is `window_s`.
        comparison_s: cost of a comparison.
        tuple_s: cost of a tuple. For a join the cost is per instance, because every instance reads each tuple; for
            other operators it is over all instances.
    """

    time_s: float
    span_s: float
    active: tuple[int, ...]
    minimum: int
    maximum: int
    busy: tuple[float, ...]
    offered_eps: tuple[float, ...] | None
    arrived: tuple[int, ...] | None
    processed_eps: tuple[float, ...]
    pending: tuple[int, ...] | None
    windows: tuple[int, ...] | None
    window_s: float
    comparison_s: float | None
    tuple_s: float | None
    mapping: IntArray = field(compare=False)

    @property
    def instances(self) -> int:
        """Number of active instances."""
        return len(self.active)


class CostFit:
    """Running estimates of the costs per tuple and per comparison.

    All instances of a join read every tuple, and share the comparisons. An interval with n instances,
    t tuples and c comparisons is therefore busy for

        busy = n * t * tuple_s + c * comparison_s    (seconds, over all instances)

    One interval cannot separate the two costs, and neither can several of a steady state. Each interval
    is a line in the plane of the two costs. The estimate moves to it by the smallest relative change (a
    projection as in Kaczmarz's method, in units of each term's share of the time), so a term with a small
    share barely changes. Intervals of different kinds move the estimate to the intersection of their lines.
    With intervals of one kind the sum is correct, and the ratio of the costs stays.

    Operators without comparisons have one cost per tuple, over all instances. Costs are None before the first
    busy interval.
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


class Observer:
    """Turns snapshots into observations; the arguments become fields of each `Observation`."""

    def __init__(self, *, window_s: float, minimum: int, maximum: int) -> None:
        self._window_s = window_s
        self._minimum = minimum
        self._maximum = maximum
        self._last: RawSnapshot | None = None
        self._mapping: IntArray | None = None
        self._costs = CostFit()

    def look(self, raw: RawSnapshot, mapping: IntArray) -> Observation | None:
        """Return the observation since the last snapshot; None if that snapshot had another `mapping`."""
        last, self._last = self._last, raw
        moved, self._mapping = mapping is not self._mapping, mapping
        if last is None or moved or raw.time_ns <= last.time_ns:
            return None
        span_s = (raw.time_ns - last.time_ns) / NS_PER_S
        busy_s = [(raw.busy_ns[i] - last.busy_ns[i]) / NS_PER_S for i in raw.active]
        processed = _subtract(raw.processed, last.processed)
        compared = None
        if raw.comparisons is not None and last.comparisons is not None:
            compared = raw.comparisons - last.comparisons
        self._costs.learn(sum(busy_s), raw.instances, sum(processed), compared)
        offered = pending = None
        if raw.arrived is not None:
            pending = tuple(max(0, n) for n in _subtract(raw.arrived, raw.processed))
            if last.arrived is not None:
                offered = tuple(n / span_s for n in _subtract(raw.arrived, last.arrived))
        return Observation(
            time_s=raw.time_ns / NS_PER_S,
            span_s=span_s,
            active=raw.active,
            minimum=self._minimum,
            maximum=self._maximum,
            busy=tuple(min(1.0, max(0.0, busy / span_s)) for busy in busy_s),
            offered_eps=offered,
            arrived=raw.arrived,
            processed_eps=tuple(n / span_s for n in processed),
            pending=pending,
            windows=raw.windows,
            window_s=self._window_s,
            comparison_s=self._costs.comparison_s,
            tuple_s=self._costs.tuple_s,
            mapping=mapping,
        )


def _subtract(now: tuple[int, ...], then: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(now, then, strict=True))
