"""Percentiles of latency, and resources of a process tree."""

import subprocess
import sys
import threading

import numpy as np
import psutil
import pytest

from streamlab.engines.protocol import Histogram
from streamlab.lab.isolate.process import run_isolated
from streamlab.lab.measure.latency import percentiles
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.measure.tree import descendants
from tests.processes import Popen


def histogram(values, counts):
    return Histogram(
        values_ns=np.array(values, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        definition="test",
    )


def test_percentile_is_the_smallest_value_with_that_share_at_or_below_it():
    found = percentiles(histogram([10, 20, 30, 40], [500, 400, 90, 10]))
    assert (found.p50_ns, found.p90_ns, found.p99_ns, found.max_ns) == (10, 20, 30, 40)
    assert found.count == 1000


def test_percentiles_agree_with_sorted_samples():
    samples = np.sort(np.random.default_rng(3).integers(1, 10**6, 5001))
    found = percentiles(histogram(*np.unique(samples, return_counts=True)))
    for percent, value in ((50, found.p50_ns), (90, found.p90_ns), (99, found.p99_ns)):
        assert value == samples[int(np.ceil(len(samples) * percent / 100)) - 1]


@pytest.mark.parametrize(
    ("count", "known"),
    [
        (19, (False, False, False, False)),
        (20, (True, False, False, False)),
        (99, (True, False, False, False)),
        (100, (True, True, False, False)),
        (999, (True, True, False, False)),
        (1000, (True, True, True, False)),
        (9_999, (True, True, True, False)),
        (10_000, (True, True, True, True)),
    ],
)
def test_percentile_needs_enough_samples(count, known):
    found = percentiles(histogram([5], [count]))
    given = (found.p50_ns, found.p90_ns, found.p99_ns, found.p999_ns)
    assert tuple(p is not None for p in given) == known
    assert found.max_ns == 5


def test_empty_histogram_has_no_percentiles():
    found = percentiles(histogram([], []))
    assert (found.count, found.p50_ns, found.max_ns) == (0, None, None)


def test_descendants_include_grandchildren_and_children_of_other_threads():
    others = {process.pid for process in descendants()}  # fixtures keep services running
    started = []

    def start():
        code = (
            "import subprocess, sys; print(flush=True); "
            "subprocess.run([sys.executable, '-c', 'import time; time.sleep(30)'])"
        )
        started.append(Popen([sys.executable, "-c", code], stdout=subprocess.PIPE))
        release.wait()

    # The kernel lists a child under the thread that started it, and drops it with that thread.
    release = threading.Event()
    thread = threading.Thread(target=start)
    thread.start()
    while not started:
        pass
    child = started[0]
    try:
        child.stdout.read(1)
        while len(descendants()) < 2 + len(others):
            pass
        found = {process.pid for process in descendants()}
        assert found == {p.pid for p in psutil.Process().children(recursive=True)}
        assert child.pid in found - others and len(found - others) == 2
    finally:
        for process in descendants():
            if process.pid not in others:
                process.kill()
        child.communicate()
        release.set()
        thread.join()


def test_peak_memory_covers_memory_freed_before_the_end():
    sampler = ResourceSampler()
    with sampler:
        block = np.ones(20_000_000)
        del block
    assert sampler.peak_rss_bytes >= 160_000_000
    assert len(sampler.rss) == len(sampler.times_ns) == len(sampler.cpu_s) >= 1


def test_clean_process_leaves_nothing_and_its_output_is_in_the_log(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    outcome = run_isolated([sys.executable, "-c", "print('said')"], log=log, timeout_s=600)
    assert (outcome.returncode, outcome.timed_out, outcome.leftovers) == (0, False, ())
    assert log.read_text() == "before\nsaid\n"
