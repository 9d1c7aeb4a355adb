"""Planted faults of trials: late outputs and additional memory."""

import subprocess
import sys

import numpy as np
import pytest

from streamlab.engines.protocol import Histogram, Measured
from streamlab.engines.recording import histogram
from streamlab.lab.measure.latency import percentile
from streamlab.lab.trial.plants import add_delay


def test_one_output_in_a_hundred_is_late_by_the_delay():
    rng = np.random.default_rng(1)
    latency = histogram(rng.exponential(100_000, 20_000).astype(np.int64), "a latency")
    after = add_delay(Measured(events=1, latency=latency), 1_000_000).latency
    assert after is not None and after.counts.sum() == 20_000
    assert (np.diff(after.values_ns) > 0).all() and (after.counts > 0).all()
    mean = [np.average(each.values_ns, weights=each.counts) for each in (latency, after)]
    assert mean[1] - mean[0] == pytest.approx(10_000, rel=1e-6)
    assert percentile(latency, 990) < 600_000 and percentile(after, 990) > 950_000
    assert percentile(after, 500) == pytest.approx(percentile(latency, 500), rel=0.02)


def test_nothing_is_late_without_a_plant_or_without_latencies():
    some = Measured(events=1, latency=histogram(np.array([5]), "a latency"))
    none = Measured(events=1, latency=None)
    empty = Histogram(values_ns=np.empty(0, np.int64), counts=np.empty(0, np.int64), definition="")
    assert add_delay(some, 0) is some and add_delay(none, 5) is none
    assert add_delay(Measured(events=1, latency=empty), 5).latency.counts.sum() == 0


def in_own_process(code):
    """Run code in a new process, since other tests raise the peak of a pytest worker to gigabytes."""
    subprocess.run([sys.executable, "-c", PRELUDE + code], check=True, timeout=120)


PRELUDE = """
import sys
from subprocess import PIPE, Popen
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.trial.plants import ballast
"""


def test_ballast_raises_the_peak_by_its_share():
    in_own_process("""
with ResourceSampler() as sampler:
    assert ballast(0.0, sampler) == b""
    before = sampler.peak_so_far_bytes()
    kept = ballast(0.2, sampler)
    after = sampler.peak_so_far_bytes()
assert kept and abs(after / before - 1.2) < 0.03, (before, after)
""")


def test_ballast_counts_processes_that_no_sample_has_seen_yet():
    in_own_process("""
code = "kept = b'1' * (200 << 20); print(flush=True); input()"
with Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE) as child:
    child.stdout.readline()
    sampler = ResourceSampler()  # not started, so it takes no sample
    before = sampler.peak_so_far_bytes()
    assert before > 200 << 20, before
    kept = ballast(0.2, sampler)
    after = sampler.peak_so_far_bytes()
    child.communicate(b"")
assert abs(after / before - 1.2) < 0.03, (before, after)
""")
