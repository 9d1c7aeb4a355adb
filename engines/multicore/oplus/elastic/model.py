"""The predictive controller of STRETCH, section 8.5: pending and predicted work."""

import math

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.oplus.elastic.arrivals import Arrivals
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.observation import NS_PER_S, Observation


class Model:
    """Keeps the work that is to be done between two shares of what the instances can do.

    The paper narrows the thresholds to [70 %, 80 %] and counts pending and predicted work, after a
    model of the join (its reference [22]). All of it in these units: rates r_i in t/s, windows w_i
    and pending p_i in tuples, WS, h and d in seconds, costs in seconds, for inputs i = 0, 1.

    Work of a join, in comparisons per second, looking h = `ahead_s` ahead:

        W = r_0 w_1' + r_1 w_0' + (p_0 w_1 + p_1 w_0 + p_0 p_1) / d

    where w_i' = w_i + p_i + (r_i h - l_i) / 2 is the mean window over that time, l_i being the
    tuples that leave it: those that arrived between now - WS and now - WS + h, of which r_i (h -
    WS) are yet to come where h is above WS. So a window follows a change of rate over WS as it
    really will, and the terms r_i h / 2 add up to r_0 r_1 h for the pairs within h. What is pending
    is to be done within d = `drain_s`.

    Capacity of n instances at a load of f, in comparisons per second:

        C(n, f) = n (f - R c_t) / c_c,    R = r_0 + r_1 + (p_0 + p_1) / d

    c_c is the cost of a comparison including its share of the outputs (alpha + sigma beta in the
    paper's model), c_t what every instance spends on every tuple, whoever owns its keys; with
    c_t = 0 it is the paper's f n / (alpha + sigma beta). Both are measured, or given.

    When W > C(n, `upper`): the fewest n' with W <= C(n', upper). When W <= C(n - 1, `lower`) for
    `hold_s`: the fewest n' with W <= C(n', lower), for the greatest W of that time. Since after
    removing the load is at most `lower` and after adding it is at least near `upper`, the same load
    never does both.

    Operators that are no joins: W = sum r_i + sum p_i / d in t/s, C(n, f) = f n / c_t, where c_t
    is the cost of a tuple over all instances.

    Weak where key skew makes one instance do more than its share: it looks at sums only. Errs
    upwards, by what expires meanwhile, while much is pending.

    Args:
        upper, lower: shares of an instance's time, 0 < lower < upper <= 1.
        ahead_s: how far windows are predicted, above 0.
        drain_s: within what time pending work is to be done, above 0.
        rate_s: over how long rates are averaged, above 0.
        hold_s: how long too little work must last before instances are removed; at least 0.
        comparison_ns, tuple_ns: costs c_c and c_t; 0: as measured.

    Raises:
        ValueError: a value is out of range.
    """

    def __init__(
        self,
        *,
        upper: float = 0.80,
        lower: float = 0.70,
        ahead_s: float = 1.0,
        drain_s: float = 1.0,
        rate_s: float = 1.0,
        hold_s: float = 1.0,
        comparison_ns: float = 0.0,
        tuple_ns: float = 0.0,
    ) -> None:
        if not 0 < lower < upper <= 1:
            raise ValueError(
                f"lower, upper are {lower:g}, {upper:g}; expected 0 < lower < upper <= 1"
            )
        for name, value in (("ahead_s", ahead_s), ("drain_s", drain_s), ("rate_s", rate_s)):
            if value <= 0:
                raise ValueError(f"{name} is {value:g}; expected a number above 0")
        for name, value in (
            ("hold_s", hold_s),
            ("comparison_ns", comparison_ns),
            ("tuple_ns", tuple_ns),
        ):
            if value < 0:
                raise ValueError(f"{name} is {value:g}; expected at least 0")
        self._upper = upper
        self._lower = lower
        self._ahead_s = ahead_s
        self._drain_s = drain_s
        self._rate_s = rate_s
        self._hold_s = hold_s
        self._comparison_s = comparison_ns / NS_PER_S
        self._tuple_s = tuple_ns / NS_PER_S
        self._arrivals: Arrivals | None = None
        self._idle_since_s: float | None = None
        self._least = 1

    def decide(self, seen: Observation) -> Decision | None:
        """Return how many instances the pending and predicted work needs, when others are active.

        Raises:
            UnsupportedError: nobody counts what arrives, so that nothing can be predicted.
        """
        if seen.arrived is None or seen.pending is None:
            raise UnsupportedError(
                "controller model predicts from the tuples that arrive, and they are not counted "
                "here; use thresholds"
            )
        if self._arrivals is None:
            self._arrivals = Arrivals(max(seen.window_s + self._ahead_s, self._rate_s))
        self._arrivals.add(seen.time_s, seen.arrived)
        now = seen.time_s
        rates = self._arrivals.rates(now - self._rate_s, now)
        tuple_s = self._tuple_s or seen.tuple_s
        if rates is None or tuple_s is None:
            return None
        tuples = sum(rates) + sum(seen.pending) / self._drain_s
        if seen.windows is None:
            return self._decided(seen, tuples * tuple_s, 0.0)
        comparison_s = self._comparison_s or seen.comparison_s
        if comparison_s is None:
            return None
        work = self._comparisons(seen, rates, self._arrivals)
        return self._decided(seen, work * comparison_s, tuples * tuple_s)

    def _comparisons(
        self, seen: Observation, rates: tuple[float, ...], arrivals: Arrivals
    ) -> float:
        """Return the join's work W, in comparisons per second."""
        assert seen.windows is not None and seen.pending is not None
        begin_s = seen.time_s - seen.window_s
        leaving = arrivals.between(begin_s, min(begin_s + self._ahead_s, seen.time_s))
        beyond_s = max(0.0, self._ahead_s - seen.window_s)
        window = [
            max(0.0, w + p + (rate * (self._ahead_s - beyond_s) - gone) / 2)
            for w, p, rate, gone in zip(seen.windows, seen.pending, rates, leaving, strict=True)
        ]
        (w0, w1), (p0, p1) = seen.windows, seen.pending
        pending = p0 * w1 + p1 * w0 + p0 * p1
        return rates[0] * window[1] + rates[1] * window[0] + pending / self._drain_s

    def _decided(self, seen: Observation, shared: float, each: float) -> Decision | None:
        """Return the decision for a load, in busy instances: `shared` by all, `each` for each."""
        n = seen.instances
        wanted = _fewest(shared, each, self._upper, seen.maximum)
        if wanted > n:
            self._idle_since_s = None
            return self._to(wanted, shared, each, seen, f"above {self._upper:.0%}")
        least = max(_fewest(shared, each, self._lower, seen.maximum), seen.minimum)
        if least >= n:
            self._idle_since_s = None
            return None
        if self._idle_since_s is None:
            self._idle_since_s, self._least = seen.time_s, least
        self._least = max(self._least, least)
        if seen.time_s - self._idle_since_s < self._hold_s:
            return None
        self._idle_since_s = None
        return self._to(
            self._least, shared, each, seen, f"at most {self._lower:.0%} of {self._least}"
        )

    def _to(
        self, instances: int, shared: float, each: float, seen: Observation, crossed: str
    ) -> Decision:
        load = shared / seen.instances + each
        return Decision(
            instances=instances,
            why=f"pending and predicted load {load:.1%} of {seen.instances} instances, {crossed}",
        )


def _fewest(shared: float, each: float, share: float, maximum: int) -> int:
    """Return the smallest n >= 1 with shared / n + each <= share; `maximum` when none would do."""
    if shared <= 0:
        return 1
    if each >= share:
        return maximum
    return min(maximum, max(1, math.ceil(shared / (share - each) * (1 - 1e-9))))
