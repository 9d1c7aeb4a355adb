"""Simulates a server with one queue in virtual time: when each event is taken and done."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.fake.options import FakeOptions
from streamlab.engines.protocol import Elasticity, IntArray, Progress, Reconfiguration

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTimes:
    """When each event was taken and done; int64[n], ns after the start, in the order of arrival."""

    taken_ns: IntArray
    done_ns: IntArray


def serve(arrive_ns: IntArray, options: FakeOptions) -> ServiceTimes:
    """Serve events, whose times of arrival do not decrease, first come, first served.

    A stall delays the first event that would be taken in it: the event is taken on time and done after the stall, and
    later events queue behind it.
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
    """Return the report of an operator that went from one instance to two, in a millisecond.

    Its load is even while it has any; each event is compared with one other.
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
