"""Adds work, memory or latency to a trial, to test whether a gate detects them."""

import time
from dataclasses import replace

import numpy as np

from streamlab.engines.protocol import Histogram, Measured
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.measure.tree import rss_bytes

TAIL = 100
"""One output in this many is delayed: the share of outputs beyond the 99th percentile."""


def burn(duration_ns: float) -> None:
    """Use this much CPU time; takes longer on a busy machine."""
    end_ns = time.thread_time_ns() + duration_ns
    while time.thread_time_ns() < end_ns:
        pass


def ballast(share: float, sampler: ResourceSampler) -> bytes:
    """Return bytes that raise the peak memory by a share, as long as they are referenced."""
    if not share:
        return b""
    size = (1 + share) * sampler.peak_so_far_bytes() - rss_bytes(sampler.other_processes())
    return b"\x01" * max(0, round(size))  # not zeros: unwritten pages use no memory


def add_delay(measured: Measured, delay_ns: int) -> Measured:
    """Return the measurement with one output in `TAIL` delayed, and no effect on other outputs."""
    if not delay_ns or measured.latency is None:
        return measured
    return replace(measured, latency=_add_delay(measured.latency, delay_ns))


def _add_delay(latency: Histogram, delay_ns: int) -> Histogram:
    # Delay every hundredth output in the order of latencies, to affect all latencies alike.
    ends = np.cumsum(latency.counts)
    delayed_counts = np.diff(ends // TAIL, prepend=0)
    values, indices = np.unique(
        np.concatenate([latency.values_ns, latency.values_ns + delay_ns]), return_inverse=True
    )
    counts = np.bincount(
        indices, weights=np.concatenate([latency.counts - delayed_counts, delayed_counts])
    )
    is_used = counts > 0
    return replace(
        latency, values_ns=values[is_used], counts=counts[is_used].astype(latency.counts.dtype)
    )
