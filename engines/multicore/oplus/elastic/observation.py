"""Defines the counters of an elastic operator, and the observations for controllers derived from them."""

from dataclasses import dataclass

from streamlab.engines.multicore.oplus.elastic.costs import CostFit

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSnapshot:
    """Counters of an operator at one instant; all but `instances` and `windows` never decrease.

    Attributes:
        time_ns: time of the reading, after the start of the timed part.
        instances: number of active instances, with the indices 0 to `instances` - 1.
        busy_ns: by instance, active or not: time that it has not waited.
        processed: by input: tuples that every active instance has processed.
        arrived: by input: tuples that have arrived; under an offered load those that are due, even
            if back-pressure delays them. None if the run does not count them.
        windows: by input: tuples in the window; None unless the operator is a join.
        comparisons: pairs compared by all instances; None unless the operator is a join.
    """

    time_ns: int
    instances: int
    busy_ns: tuple[int, ...]
    processed: tuple[int, ...]
    arrived: tuple[int, ...] | None = None
    windows: tuple[int, ...] | None = None
    comparisons: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The interval since the last observation, in which the number of instances did not change.

    Attributes:
        time_s: current time, after the start of the timed part.
        span_s: length of the interval, above 0.
        instances: number of active instances.
        minimum, maximum: bounds of that number.
        busy: by active instance: share of `span_s` in which it did not wait, in [0, 1].
        offered_eps: by input: arriving t/s; None if the run does not count them.
        arrived: by input: tuples that arrived since the start; None if the run does not count them.
        processed_eps: by input: processed t/s.
        pending: by input: arrived tuples that are not processed; None if the run does not count them.
        windows: by input: tuples in the window; None unless the operator is a join.
        window_s: size of the window, on the clock of `time_s`.
        comparison_s: cost of a comparison; None before it is measured, and unless the operator is a join.
        tuple_s: cost of a tuple; None before it is measured. For a join it is per instance, since all
            read each tuple; for other operators it is over all instances.
    """

    time_s: float
    span_s: float
    instances: int
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


class Observer:
    """Turns snapshots into observations, and estimates costs.

    Args:
        window_s: size of the window, on the clock of the snapshots.
        minimum, maximum: bounds of the number of instances.
    """

    def __init__(self, *, window_s: float, minimum: int, maximum: int) -> None:
        self._window_s = window_s
        self._minimum = minimum
        self._maximum = maximum
        self._last: RawSnapshot | None = None
        self._costs = CostFit()

    def look(self, raw: RawSnapshot) -> Observation | None:
        """Return the observation since the last snapshot; None if the number of instances changed."""
        last, self._last = self._last, raw
        if last is None or last.instances != raw.instances or raw.time_ns <= last.time_ns:
            return None
        span_s = (raw.time_ns - last.time_ns) / NS_PER_S
        active = range(raw.instances)
        busy_s = [(raw.busy_ns[i] - last.busy_ns[i]) / NS_PER_S for i in active]
        processed = _since(raw.processed, last.processed)
        compared = None
        if raw.comparisons is not None and last.comparisons is not None:
            compared = raw.comparisons - last.comparisons
        self._costs.learn(sum(busy_s), raw.instances, sum(processed), compared)
        offered = pending = None
        if raw.arrived is not None:
            pending = tuple(max(0, n) for n in _since(raw.arrived, raw.processed))
            if last.arrived is not None:
                offered = tuple(n / span_s for n in _since(raw.arrived, last.arrived))
        return Observation(
            time_s=raw.time_ns / NS_PER_S,
            span_s=span_s,
            instances=raw.instances,
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
        )


def _since(now: tuple[int, ...], then: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(now, then, strict=True))
