"""Sources under a load, and those that are idle, end early, or begin late, in the DGS core.

For these all threads share one core, rings hold two blocks, and workers are more than streams:
whoever waits for something that only a waiting thread can bring would wait for ever. Why none does:
docs/decisions/0027-sources-and-progress.md.
"""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import BURSTS, CONSTANT, POISSON, LoadSpec
from streamlab.workloads.registry import workload
from tests.engines.multicore.native_runs import check_native, make_run, run_native
from tests.engines.tasks import task_of
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


def check(name, data, **how):
    return check_native("dgs", workload(name), data, ring_blocks=2, pin=False, **how)[0]


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


# ---- Loads -----------------------------------------------------------------------------------------

RATE_EPS = 400_000.0


def offered(name, tmp_path, **spec):
    """A quarter of a second of a workload's input, the first 50 ms of it warm-up."""
    subject = workload(name)
    dataset = write_dataset(generated(subject, {}, 200_000, 1), name, tmp_path)
    given = {"rate_eps": RATE_EPS, "warm_up_s": 0.05, "window_s": 0.2, **spec}
    made = offer(LoadSpec(**given), dataset)
    return subject, made.dataset.load(), made.load


def test_warm_up_outputs_are_those_due_before_its_end(tmp_path):
    found, data, load = offered("page_view_join", tmp_path)
    measured, answer = run_native("dgs", found.program, data, load=load, batch=16)
    due = {}
    for stream, times in zip(data.streams, load.due_ns, strict=True):
        for ts, time in zip(stream.ts.tolist(), times.tolist(), strict=True):
            due.setdefault(ts, time)
    early = sum(due[ts] < load.warm_up_ns for ts in answer["ts"].tolist())
    assert measured.warm_up_latency is not None
    # Streams may share a timestamp; then the due times differ by a few events' gaps.
    assert abs(int(measured.warm_up_latency.counts.sum()) - early) <= len(data.streams)


@pytest.mark.parametrize("arrival", [CONSTANT, POISSON, BURSTS])
def test_no_output_comes_before_its_input_is_due(arrival, tmp_path):
    found, data, load = offered("event_window", tmp_path, arrival=arrival)
    measured, _ = run_native("dgs", found.program, data, load=load, workers=2, batch=64)
    assert measured.latency is not None
    # A latency below zero would have been counted as 0: handing over alone takes longer than that.
    assert measured.latency.values_ns.min() > 0


def test_under_a_load_measuring_is_not_optional(tmp_path):
    found, _, load = offered("event_window", tmp_path)
    data = generated(found, {}, 1_000, 1)
    task = task_of(found, data, tmp_path / "small", "dgs", load=load)
    assert MulticoreEngine().unsupported(task) is None
    refused = MulticoreEngine().unsupported(replace(task, options={"measure": False}))
    assert refused is not None and "without a load" in refused


def test_due_times_that_decrease_are_refused(tmp_path):
    found, data, load = offered("event_window", tmp_path)
    load.due_ns[0][:] = load.due_ns[0][::-1].copy()
    with pytest.raises(EngineError, match="due times of stream 0 must not decrease"):
        make_run("dgs", found.program, data, load=load)


@pytest.mark.full  # seconds of both cores; `lab doctor` measures one in its own test
def test_the_generators_ceiling_is_a_rate_and_grows_with_the_batch():
    engine = MulticoreEngine()
    ceilings = [engine.generator_ceiling_eps("dgs", batch) for batch in (1, 64)]
    assert all(ceiling is not None and np.isfinite(ceiling) for ceiling in ceilings)
    assert 0 < ceilings[0] < ceilings[1]
