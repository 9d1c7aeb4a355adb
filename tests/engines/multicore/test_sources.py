"""Sources that are idle, end early, or begin late, in the DGS core: runs end, with the answer.

All threads share one core, rings hold two blocks, and workers are more than streams: whoever waits
for something that only a waiting thread can bring would wait for ever. Why none does:
docs/decisions/0027-sources-and-progress.md.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated

PROGRAMS = {
    "event_window": "values_per_barrier",
    "page_view_join": "views_per_update",
    "fraud_detection": "transactions_per_rule",
}
EVENTS, STREAMS, PERIOD = 12_000, 3, 50
SHARES = {
    "idle": (0, 0),
    "ends early": (0, 1),
    "begins late": (9, 10),
    "late, and ends early": (4, 5),
}
"""First and last tenth of its rows that a stream keeps."""


@pytest.fixture
def one_core():
    """All threads of the test share a core."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cores)})
    yield
    os.sched_setaffinity(0, all_cores)


def tenths(stream, first, last):
    begin, end = len(stream) * first // 10, len(stream) * last // 10
    return replace(
        stream,
        ts=stream.ts[begin:end],
        tag=None if stream.tag is None else stream.tag[begin:end],
        payload={name: column[begin:end] for name, column in stream.payload.items()},
    )


def thinned(data, which, first, last):
    streams = list(data.streams)
    streams[which] = tenths(streams[which], first, last)
    return replace(data, streams=tuple(streams))


def input_of(name, how, which):
    params = {"streams": STREAMS, PROGRAMS[name]: PERIOD}
    return thinned(generated(workload(name), params, EVENTS, 1), which, *SHARES[how])


def check(name, data, **settings):
    found = workload(name)
    run = DgsRun(found.program, data, RunSettings(ring_blocks=2, pin=False, **settings))
    try:
        measured = run.run()
        assert measured.events == data.events
        assert compare(found.oracle(data), run.answer(), found.output).equal
        return measured
    finally:
        run.close()


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("which", [0, STREAMS], ids=["ordinary", "synchronizing"])
@pytest.mark.parametrize("how", SHARES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_at_full_speed_any_source_may_be_silent_whenever_it_likes(name, how, which):
    data = input_of(name, how, which)
    for workers, batch in ((2, 1), (7, 3)):
        check(name, data, workers=workers, batch=batch)


@pytest.mark.usefixtures("one_core")
@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("which", [0, STREAMS], ids=["ordinary", "synchronizing"])
@pytest.mark.parametrize("how", SHARES)
def test_under_a_load_heartbeats_say_that_a_silent_source_has_nothing(how, which, tmp_path):
    whole = write_dataset(input_of("event_window", how, which), "event_window", tmp_path)
    seconds = 0.1
    spec = LoadSpec(
        rate_eps=0.9 * whole.events / seconds,
        warm_up_s=0.0,
        window_s=seconds,
        # Nothing is counted from one barrier to the next where there are none.
        **({"heartbeats_per_barrier": 10.0} if which == 0 else {}),
    )
    offered = offer(spec, whole, program=workload("event_window").program)
    measured = check("event_window", offered.dataset.load(), workers=5, batch=2, load=offered.load)
    progress = measured.progress
    assert progress.emitted.sum() == progress.consumed.sum() == offered.dataset.events


def test_a_source_that_begins_late_promises_that_it_has_nothing_for_each_window_before(tmp_path):
    """Without heartbeats the first window would wait for its first event, most of the load."""
    whole = write_dataset(input_of("event_window", "begins late", 0), "event_window", tmp_path)
    per_barrier = 10.0
    spec = LoadSpec(
        rate_eps=0.95 * whole.events,
        warm_up_s=0.0,
        window_s=1.0,
        heartbeats_per_barrier=per_barrier,
    )
    offered = offer(spec, whole, program=workload("event_window").program)
    load, barriers = offered.load, offered.dataset.load().streams[STREAMS].ts
    barriers_due = load.due_ns[STREAMS]
    silent = barriers_due < load.due_ns[0][0]
    assert silent.sum() > 50
    # The first promise of the silent stream that is no lower than a barrier: how long after it?
    promised = np.searchsorted(load.heartbeat_ts[0], barriers[silent], side="left")
    waits_ns = load.heartbeat_due_ns[0][promised] - barriers_due[silent]
    assert waits_ns.min() >= 0
    assert waits_ns.max() <= 2 * load.end_ns / len(barriers) / per_barrier
