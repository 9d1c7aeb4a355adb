"""Defines the options of the fake engine, and simulates a server with one queue in virtual time."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from streamlab.engines.protocol import Elasticity, IntArray, Progress, Reconfiguration

Rate = Annotated[float, Meta(gt=0)]
AtLeastZero = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeOptions:
    """Options of the fake engine.

    Under an offered load the fake is a server with one queue, first come, first served. Unless `real_time` is set, the
    server runs in virtual time: it computes when each event would be served and reports these times without waiting, so
    that minutes of load take milliseconds. The duration measured by the lab then means nothing; the plan states this,
    and the counter `virtual_end_s` is the time of the last event.

    Attributes:
        capacity_eps: average rate in events/s at which the server serves; None if unlimited. Without a load the fake
            sleeps for the time that all events take at this rate.
        noise: standard deviation of the logarithm of each event's service time, whose mean stays 1 / capacity. With 0,
            all events take equally long.
        seed: seed of the noise.
        stall_at_s: when the server stops serving, after the start of the load.
        stall_s: how long the server stops.
        generator_lag_s: delay of each hand-over by the source; 0 for a virtual source.
        scale_at_s: time after the start of a load at which the fake reports a change from one instance to two; None if
            it is not elastic.
        real_time: whether the fake waits for the time of the load; the reported figures stay the same.
        plan: the plan in the result.
        refuse: reason that makes every task unsupported; None to run tasks.
        says: error message of variants `crash` and `mute`.
    """

    capacity_eps: Rate | None = None
    noise: AtLeastZero = 0.0
    seed: Annotated[int, Meta(ge=0)] = 0
    stall_at_s: AtLeastZero = 0.0
    stall_s: AtLeastZero = 0.0
    generator_lag_s: AtLeastZero = 0.0
    scale_at_s: AtLeastZero | None = None
    real_time: bool = False
    plan: str | None = None
    refuse: str | None = None
    says: str | None = None

    @property
    def served_eps(self) -> float:
        """Events/s that the server serves; infinite without a capacity."""
        return math.inf if self.capacity_eps is None else self.capacity_eps


_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTimes:
    """When each event was taken and done: int64[n], ns after the start, in the order of arrival."""

    taken_ns: IntArray
    done_ns: IntArray


def serve(arrive_ns: IntArray, options: FakeOptions) -> ServiceTimes:
    """Serve events first come, first served; `arrive_ns` must not decrease.

    A stall delays the first event taken during it: the event is taken on time and done after the stall, and later
    events queue behind it.
    """
    service = _service_ns(len(arrive_ns), options)
    begin, done = _queue(arrive_ns, service)
    from_ns = options.stall_at_s * _NS_PER_S
    until_ns = from_ns + options.stall_s * _NS_PER_S
    stalled = int(np.searchsorted(begin, from_ns, side="left"))
    if stalled < len(begin) and begin[stalled] < until_ns:
        service[stalled] += until_ns - begin[stalled]
        begin, done = _queue(arrive_ns, service)
    return ServiceTimes(taken_ns=_round(begin), done_ns=_round(done))


def _service_ns(count: int, options: FakeOptions) -> npt.NDArray[np.float64]:
    service = np.full(count, _NS_PER_S / options.served_eps)
    if options.noise:
        random = np.random.Generator(np.random.PCG64(options.seed))
        # The mean of a log-normal is exp(mu + sigma^2 / 2).
        service *= np.exp(options.noise * random.standard_normal(count) - options.noise**2 / 2)
    return service


def _queue(
    arrive_ns: IntArray, service_ns: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return when each event's service begins and ends.

    Lindley's recursion end[k] = max(arrive[k], end[k - 1]) + service[k], as a running maximum:
    end[k] = S[k] + max over j <= k of (arrive[j] - S[j - 1]), where S are the cumulative sums of service.
    """
    work = np.cumsum(service_ns)
    end = work + np.maximum.accumulate(arrive_ns - (work - service_ns))
    return end - service_ns, end


def _round(times: npt.NDArray[np.float64]) -> IntArray:
    return np.rint(times).astype(np.int64)


def scaled_at(at_ns: int, progress: Progress) -> Elasticity:
    """Return the report of an operator that grows from one instance to two, which takes a millisecond.

    While the operator is busy, its instances share the load evenly. The operator compares each event with one other
    event.
    """
    starts_ns = np.arange(len(progress.consumed), dtype=np.int64) * progress.step_ns
    busy = progress.consumed > 0
    return Elasticity(
        reconfigurations=(
            Reconfiguration(at_ns=at_ns, duration_ns=1_000_000, before=1, after=2, event_ts=0),
        ),
        instances=1 + (starts_ns + progress.step_ns > at_ns).astype(np.int64),
        comparisons=progress.consumed,
        load_cov=np.where(busy, 0.0, np.nan),
    )
