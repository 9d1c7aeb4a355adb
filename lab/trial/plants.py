"""Work, memory and latency that the lab adds to a trial, to try whether a gate sees them."""

import time
from dataclasses import replace

import numpy as np

from streamlab.engines.protocol import Histogram, Measured
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.measure.tree import rss_bytes

TAIL = 100
"""One output of so many is late: the share beyond the 99th percentile."""


def burn(duration_ns: float) -> None:
    """Use that much CPU time; on a busy machine that takes longer."""
    end_ns = time.thread_time_ns() + duration_ns
    while time.thread_time_ns() < end_ns:
        pass


def ballast(share: float, sampler: ResourceSampler) -> bytes:
    """Return memory that raises the peak so far by a share, as long as it is kept."""
    if not share:
        return b""
    wanted = (1 + share) * sampler.peak_so_far_bytes() - rss_bytes(sampler.others())
    return b"\x01" * max(0, round(wanted))  # not zeros: memory never written is not there


def delayed(measured: Measured, delay_ns: int) -> Measured:
    """Return what was measured, with one output in `TAIL` late by so much.

    It is as if the engine had slept before those outputs and nothing had waited behind them.
    """
    if not delay_ns or measured.latency is None:
        return measured
    return replace(measured, latency=_delayed(measured.latency, delay_ns))


def _delayed(latency: Histogram, delay_ns: int) -> Histogram:
    # Every hundredth output in the order of latencies, so that all latencies are hit alike.
    ends = np.cumsum(latency.counts)
    late = np.diff(ends // TAIL, prepend=0)
    values, place = np.unique(
        np.concatenate([latency.values_ns, latency.values_ns + delay_ns]), return_inverse=True
    )
    counts = np.bincount(place, weights=np.concatenate([latency.counts - late, late]))
    used = counts > 0
    return replace(
        latency, values_ns=values[used], counts=counts[used].astype(latency.counts.dtype)
    )
