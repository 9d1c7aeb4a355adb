"""The cores on which threads of a run begin, and to which they may move."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.registry import workload
from tests.engines.multicore.native_runs import make_run

TASKS = Path("/proc/self/task")
LAST_CORE = 36
"""Of the fields of a thread's `stat`, behind its name."""
STREAMS = 16
"""Work for so many threads."""
TRIES = 10
"""Beside other work a thread may be moved before it sleeps for the first time."""


def threads_of(workers, **settings):
    """Return the cores on which new threads sleep, in turn, and those that each may use."""
    subject = workload("event_window")
    data = generate_input(subject, subject.params({"streams": STREAMS}), 1000, seed=1)
    return threads_made_by(
        lambda: make_run("dgs", subject.program, data, workers=workers, **settings)
    )


def threads_made_by(make):
    make().close()  # what libraries start, they have started
    before = set(TASKS.iterdir())
    with closing(make()):
        new = sorted(set(TASKS.iterdir()) - before, key=lambda path: int(path.name))
        slept = [
            int((path / "stat").read_text().rpartition(")")[2].split()[LAST_CORE]) for path in new
        ]
        return slept, [os.sched_getaffinity(int(path.name)) for path in new]


def in_turn(count):
    cores = sorted(os.sched_getaffinity(0))
    return [cores[index % len(cores)] for index in range(count)]


def test_more_threads_than_cores_begin_on_all_cores_in_turn_and_may_go_anywhere():
    if len(os.sched_getaffinity(0)) >= STREAMS:
        pytest.skip(f"it has {STREAMS} threads, which are to be more than there are cores")
    tried = [threads_of(STREAMS) for _ in range(TRIES)]
    assert in_turn(STREAMS) in [slept for slept, _ in tried]
    assert all(may == os.sched_getaffinity(0) for _, each in tried for may in each)


def test_pinned_threads_stay_where_they_begin():
    slept, may = threads_of(3, pin=True)
    assert slept == in_turn(3)
    assert may == [{core} for core in in_turn(3)]


def test_readers_downstream_begin_on_the_last_core():
    """Where instances may be more than are active, the first core has one that is."""
    subject = workload("wordcount")
    data = ordinary_input(subject)
    cores = sorted(os.sched_getaffinity(0))
    instances = len(cores)

    def make():
        return make_run("vsn", subject.program, data, max_instances=instances, downstream=1)

    tried = [threads_made_by(make)[0] for _ in range(TRIES)]
    assert [*cores, cores[-1]] in tried


def test_a_single_thread_begins_wherever_the_kernel_says():
    _, may = threads_of(1)
    assert may == [os.sched_getaffinity(0)]
