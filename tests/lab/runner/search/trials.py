"""Simulated queues, with the counts of an engine of known capacity, and noise of known truth."""

from dataclasses import dataclass

import numpy as np

from streamlab.engines.protocol import Histogram, OfferedLoad, Progress, Sent
from streamlab.lab.measure.sustained_rate import judge

STEP_NS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One server with a queue.

    `utilisation`: offered rate / capacity. `poisson`: arrivals, else at constant rate. `jitter`:
    sigma of log-normal service times. `stalls_per_s`: each exponential with mean 5 ms.
    `unit_s`: what arrives is taken up at multiples of it and is done all at once, as by
    micro-batches.
    """

    utilisation: float
    rate_eps: float = 2_000.0
    poisson: bool = True
    jitter: float = 0.3
    stalls_per_s: float = 0.0
    unit_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The arguments of `judge`."""

    progress: Progress
    load: OfferedLoad
    events: int
    duration_ns: int

    def judged(self, **more):
        arguments = {
            "load": self.load,
            "offered_events": self.events,
            "sent": sent(self.events),
            "latency": None,
            "duration_ns": self.duration_ns,
        } | more
        return judge(arguments.pop("progress", self.progress), **arguments)


def sent(events, lag_ns=1_000):
    lag = Histogram(values_ns=np.array([lag_ns]), counts=np.array([events]), definition="")
    return Sent(events=events, lag=lag, own_thread=True)


def simulate(queue, rng, *, window_s=60.0, warm_up_s=10.0):
    """Serve a load by Lindley's recursion, first come, first served."""
    length_s = warm_up_s + window_s
    count = int(queue.rate_eps * length_s)
    due = np.arange(count) / queue.rate_eps
    if queue.poisson:
        due = np.cumsum(rng.exponential(size=count)) / queue.rate_eps
        due = due[due < length_s]
    service = np.full(len(due), queue.utilisation / queue.rate_eps)
    if queue.jitter:
        sigma = queue.jitter
        service *= rng.lognormal(-(sigma**2) / 2, sigma, size=len(due))
    stalls = rng.poisson(queue.stalls_per_s * length_s)
    np.add.at(service, rng.integers(0, len(due), size=stalls), rng.exponential(5e-3, size=stalls))
    ready = np.ceil(due / queue.unit_s) * queue.unit_s if queue.unit_s else due
    worked = np.cumsum(service)
    done = worked + np.maximum.accumulate(ready - np.concatenate(([0.0], worked[:-1])))
    if queue.unit_s:
        last = np.searchsorted(ready, ready, side="right") - 1
        done = done[last]
    return outcome(due, done, length_s=length_s, warm_up_s=warm_up_s)


def outcome(due, done, *, length_s, warm_up_s, base_s=20e-6):
    """Count what was due and done on the grid; times in seconds, ascending."""
    rows = int(done[-1] / 0.1) + 2
    row = (done / 0.1).astype(int)
    counts = np.bincount(row, minlength=rows)
    ends = np.cumsum(counts)
    latency = done - due + base_s
    p50 = [
        int(np.median(latency[end - n : end]) * 1e9) if n else -1
        for end, n in zip(ends, counts, strict=True)
    ]
    load = OfferedLoad(
        due_ns=((due * 1e9).astype(np.int64),),
        heartbeat_ts=(),
        heartbeat_due_ns=(),
        warm_up_ns=int(warm_up_s * 1e9),
        end_ns=int(length_s * 1e9),
    )
    progress = Progress(
        step_ns=STEP_NS,
        emitted=np.bincount((due / 0.1).astype(int), minlength=rows),
        consumed=counts,
        outputs=counts,
        latency_p50_ns=np.array(p50),
        latency_p99_ns=np.array(p50),
        latency_max_ns=np.array(p50),
    )
    return Outcome(progress=progress, load=load, events=len(due), duration_ns=int(done[-1] * 1e9))


def correlated(rng, n, sd, correlation):
    """Stationary normal noise with this first-order autocorrelation."""
    innovations = rng.normal(size=n) * sd * np.sqrt(1 - correlation**2)
    innovations[0] = rng.normal() * sd
    values = np.empty(n)
    last = 0.0
    for i, innovation in enumerate(innovations):
        values[i] = last = correlation * last + innovation
    return values
