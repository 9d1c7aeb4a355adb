"""Converts the core's histograms and counters to the types of the engine protocol."""

from typing import Any

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.protocol import Elasticity, Histogram, Progress, Reconfiguration

LATENCY = (
    "from the publication of the latest input block that the output depends on to its emission; "
    "at full speed, so it is the engine's own delay, not queueing at an offered rate"
)
LATENCY_UNDER_LOAD = (
    "from the due time of the latest input event that the output depends on to its emission, "
    "warm-up left out"
)
SERVICE = "from when a worker took the input to the emission of the output: without waiting"
LAG = "from due to handed over; events handed over together count with the lag of the first"


def histogram(sparse: tuple[bytes, bytes], definition: str) -> Histogram:
    """Return a histogram from the bytes of its used buckets: values (ns) and counts."""
    values, counts = (np.frombuffer(column, dtype=np.int64) for column in sparse)
    return Histogram(values_ns=values, counts=counts, definition=definition)


def quantile(latencies: Histogram, share: float) -> float:
    """Return a quantile of latencies in ns; the histogram must have at least one latency."""
    total = np.cumsum(latencies.counts)
    return float(latencies.values_ns[np.searchsorted(total, share * total[-1])])


def progress(core: Any) -> Progress:
    """Return the core's counts per time step."""
    emitted, consumed, outputs, p50, p99, maxima = (
        np.array(column, dtype=np.int64) for column in core.progress()
    )
    return Progress(
        step_ns=_core.STEP_NS,
        emitted=emitted,
        consumed=consumed,
        outputs=outputs,
        latency_p50_ns=p50,
        latency_p99_ns=p99,
        latency_max_ns=maxima,
    )


def elasticity(core: Any, changes: list[Reconfiguration], *, start: int, join: bool) -> Elasticity:
    """Return the scaling history of a finished run, on the time grid of its progress.

    `start` is the number of active instances at the start; `join` states whether the operator compares pairs.
    """
    steps = len(core.progress()[0])
    by_instance = core.load_steps()
    loads = np.zeros((len(by_instance), steps, 2), dtype=np.int64)  # busy_ns, compared pairs
    for load, pairs in zip(loads, by_instance, strict=True):
        load[: len(pairs)] = np.reshape(pairs[:steps], (-1, 2))
    busy, comparisons = loads[..., 0], loads[..., 1].sum(axis=0)
    ends_ns = (np.arange(steps) + 1) * _core.STEP_NS
    active = np.zeros((len(by_instance), steps), dtype=bool)
    active[:start] = True
    for change in changes:
        later = ends_ns >= change.at_ns + change.duration_ns
        active[:, later] = False
        active_instances = np.array(change.active or range(change.after))
        active[np.ix_(active_instances, later)] = True
    cov = np.full(steps, np.nan)
    for step in range(steps):
        load_ns = busy[active[:, step], step]
        if load_ns.sum() > 0:
            cov[step] = load_ns.std() / load_ns.mean()
    return Elasticity(
        reconfigurations=tuple(changes),
        instances=active.sum(axis=0, dtype=np.int64),
        comparisons=comparisons if join else None,
        load_cov=cov,
    )
