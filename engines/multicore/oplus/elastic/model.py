"""Implements the predictive controller of STRETCH, section 8.5: pending and predicted work."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.observation import NS_PER_S, Observation

Above = Annotated[float, Meta(gt=0)]
AtLeast = Annotated[float, Meta(ge=0)]


class Arrivals:
    """Cumulative arrivals by input, at the times of the observations; queries may reach `keep_s` back."""

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._times_s: list[float] = []
        self._counts: list[tuple[int, ...]] = []

    def add(self, time_s: float, counts: tuple[int, ...]) -> None:
        """Record the arrivals until `time_s`; times ascend."""
        self._times_s.append(time_s)
        self._counts.append(counts)
        # Keep the last record before the horizon, for interpolation. Cut rarely, because a cut copies the rest.
        expired_count = bisect_right(self._times_s, time_s - self._keep_s) - 1
        if expired_count > 64 and 2 * expired_count > len(self._times_s):
            del self._times_s[:expired_count], self._counts[:expired_count]

    def rates(self, begin_s: float, end_s: float) -> tuple[float, ...] | None:
        """Return the arrival rate of each input between two times, in tuples/s; None before the second observation."""
        begin_s = max(begin_s, self._times_s[0])
        if begin_s >= end_s:
            return None
        return tuple(n / (end_s - begin_s) for n in self.between(begin_s, end_s))

    def between(self, begin_s: float, end_s: float) -> tuple[float, ...]:
        """Return the number of tuples that arrived between two times, by input.

        Interpolates between observations; no tuples arrive before the first observation.
        """
        return tuple(b - a for a, b in zip(self._until(begin_s), self._until(end_s), strict=True))

    def _until(self, time_s: float) -> tuple[float, ...]:
        """Return the number of tuples that arrived until a time, by input."""
        after = bisect_right(self._times_s, time_s)
        if after == 0:
            return tuple(map(float, self._counts[0]))
        first = self._counts[after - 1]
        if after == len(self._times_s):
            return tuple(map(float, first))
        t0, t1 = self._times_s[after - 1], self._times_s[after]
        share = (time_s - t0) / (t1 - t0)
        return tuple(a + share * (b - a) for a, b in zip(first, self._counts[after], strict=True))


@dataclass(slots=True, kw_only=True)
class Model:
    """Keeps the pending and predicted work between two shares of the instances' capacity.

    The paper narrows the thresholds to [70 %, 80 %] and counts pending and predicted work, after a
    model of the join (its reference [22]). Units: rates r_i in t/s, windows w_i and pending p_i in
    tuples, WS, h and d in seconds, costs in seconds, for inputs i = 0, 1.

    Work of a join, in comparisons per second, over the next h = `ahead_s`:

        W = r_0 w_1' + r_1 w_0' + (p_0 w_1 + p_1 w_0 + p_0 p_1) / d

    w_i' = w_i + p_i + (r_i h - l_i) / 2 is the mean window over that time. l_i are the tuples that
    leave it: those that arrived between now - WS and now - WS + h, of which r_i (h - WS) are still to
    come if h > WS. So a window follows a change of rate over WS, and the terms r_i h / 2 add up to
    r_0 r_1 h for the pairs within h. Pending work must be done within d = `drain_s`.

    Capacity of n instances at a load of f, in comparisons per second:

        C(n, f) = n (f - R c_t) / c_c,    R = r_0 + r_1 + (p_0 + p_1) / d

    c_c is the cost of a comparison including its share of the outputs (alpha + sigma beta in the
    paper's model). c_t is the time that every instance spends on every tuple; with c_t = 0 the formula
    is the paper's f n / (alpha + sigma beta). Both costs are measured or set by options.

    If W > C(n, `upper`), the decision is the smallest n' with W <= C(n', upper). If W <= C(n - 1,
    `lower`) for `hold_s`, it is the smallest n' with W <= C(n', lower), for the maximum W of that time.
    The load is at most `lower` after removing instances, and near `upper` after adding them, so one load
    never causes both.

    For operators without a join, W = sum r_i + sum p_i / d in t/s, and C(n, f) = f n / c_t, where c_t
    is the cost of a tuple over all instances.

    Limits: the model uses sums, so it misses instances that are overloaded by key skew. While much work is pending, the
    model overestimates the work by the tuples that expire meanwhile.

    Attributes:
        upper, lower: shares of an instance's time, 0 < lower < upper <= 1.
        ahead_s: time over which windows are predicted.
        drain_s: time within which pending work must be done.
        rate_s: time over which rates are averaged.
        hold_s: time of low work before instances are removed.
        comparison_ns, tuple_ns: costs c_c and c_t; 0 means measured.

    Raises:
        ValueError: the shares are not in that order.
    """

    upper: float = 0.80
    lower: float = 0.70
    ahead_s: Above = 1.0
    drain_s: Above = 1.0
    rate_s: Above = 1.0
    hold_s: AtLeast = 1.0
    comparison_ns: AtLeast = 0.0
    tuple_ns: AtLeast = 0.0
    _arrivals: Arrivals | None = field(default=None, init=False)
    _idle_since_s: float | None = field(default=None, init=False)
    _reduced_count: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.lower < self.upper <= 1:
            raise ValueError(
                f"lower, upper are {self.lower:g}, {self.upper:g}; expected 0 < lower < upper <= 1"
            )

    def decide(self, observation: Observation) -> Decision | None:
        """Return the number of instances for the pending and predicted work, or None to keep it.

        Raises:
            UnsupportedError: the run does not count arriving tuples, so there is no prediction.
        """
        if observation.arrived is None or observation.pending is None:
            raise UnsupportedError(
                "controller model needs the number of arriving tuples, but a run without an offered "
                "load does not count them; give the run a load, or use the controller thresholds"
            )
        if self._arrivals is None:
            self._arrivals = Arrivals(max(observation.window_s + self.ahead_s, self.rate_s))
        self._arrivals.add(observation.time_s, observation.arrived)
        now = observation.time_s
        rates = self._arrivals.rates(now - self.rate_s, now)
        tuple_s = self.tuple_ns / NS_PER_S or observation.tuple_s
        if rates is None or tuple_s is None:
            return None
        tuples = sum(rates) + sum(observation.pending) / self.drain_s
        if observation.windows is None:
            return self._decide_for(observation, tuples * tuple_s, 0.0)
        comparison_s = self.comparison_ns / NS_PER_S or observation.comparison_s
        if comparison_s is None:
            return None
        work = self._comparisons(observation, rates, self._arrivals)
        return self._decide_for(observation, work * comparison_s, tuples * tuple_s)

    def _comparisons(
        self, observation: Observation, rates: tuple[float, ...], arrivals: Arrivals
    ) -> float:
        """Return the join's work W, in comparisons per second."""
        assert observation.windows is not None and observation.pending is not None
        begin_s = observation.time_s - observation.window_s
        leaving = arrivals.between(begin_s, min(begin_s + self.ahead_s, observation.time_s))
        beyond_s = max(0.0, self.ahead_s - observation.window_s)
        window = [
            max(0.0, w + p + (rate * (self.ahead_s - beyond_s) - gone) / 2)
            for w, p, rate, gone in zip(
                observation.windows, observation.pending, rates, leaving, strict=True
            )
        ]
        (w0, w1), (p0, p1) = observation.windows, observation.pending
        pending = p0 * w1 + p1 * w0 + p0 * p1
        return rates[0] * window[1] + rates[1] * window[0] + pending / self.drain_s

    def _decide_for(
        self, observation: Observation, shared: float, per_instance: float
    ) -> Decision | None:
        """Return the decision for a load, measured in busy instances.

        All instances share the load `shared`; in addition, each instance has the load `per_instance`.
        """
        n = observation.instances
        load = shared / n + per_instance
        why = f"pending and predicted load {load:.1%} of {n} instances, "
        raised_count = _min_instances(shared, per_instance, self.upper, observation.maximum)
        if raised_count > n:
            self._idle_since_s = None
            return Decision(instances=raised_count, why=f"{why}above {self.upper:.0%}")
        reduced_count = max(
            _min_instances(shared, per_instance, self.lower, observation.maximum),
            observation.minimum,
        )
        if reduced_count >= n:
            self._idle_since_s = None
            return None
        if self._idle_since_s is None:
            self._idle_since_s, self._reduced_count = observation.time_s, reduced_count
        self._reduced_count = max(self._reduced_count, reduced_count)
        if observation.time_s - self._idle_since_s < self.hold_s:
            return None
        self._idle_since_s = None
        why += f"at most {self.lower:.0%} of {self._reduced_count}"
        return Decision(instances=self._reduced_count, why=why)


def _min_instances(shared: float, per_instance: float, share: float, maximum: int) -> int:
    """Return the smallest n >= 1 with shared / n + per_instance <= share, at most `maximum`."""
    if shared <= 0:
        return 1
    if per_instance >= share:
        return maximum
    return min(maximum, max(1, math.ceil(shared / (share - per_instance) * (1 - 1e-9))))
