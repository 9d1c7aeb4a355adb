"""The multicore engine under an offered load: the same answers, and every event accounted for."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import BURSTS, CONSTANT, POISSON, LoadSpec
from streamlab.workloads.model import DGSProgram
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import names, workload
from tests.workloads.suite.streams import generated

SLOW_TO_COMPILE = {"outlier_detection"}
"""Programs whose kernels take 7 s to compile anew: left to `make test-all`."""
BY_COST = [
    pytest.param(name, marks=pytest.mark.full) if name in SLOW_TO_COMPILE else name
    for name in names()
    if isinstance(workload(name).program, DGSProgram)
]
"""Queries of operators are in test_oplus.py."""

RATE_EPS = 400_000.0


def offered(name, tmp_path, **spec):
    """A quarter of a second of a workload's input, the first 50 ms of it warm-up."""
    found = workload(name)
    dataset = write_dataset(generated(found, {}, 200_000, 1), name, tmp_path)
    given = {"rate_eps": RATE_EPS, "warm_up_s": 0.05, "window_s": 0.2, **spec}
    made = offer(LoadSpec(**given), dataset)
    return found, made.dataset.load(), made.load


def run_under(found, data, load, **options):
    run = DgsRun(found.program, data, RunSettings(load=load, **options))
    try:
        measured = run.run()
        return measured, run.answer()
    finally:
        run.close()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("name", BY_COST)
@pytest.mark.parametrize("workers, batch", [(1, 64), (2, 1), (3, 64)])
@pytest.mark.parametrize("batching", ["adaptive", "full"])
def test_an_offered_load_gives_the_oracles_answer_and_loses_nothing(
    name, workers, batch, batching, tmp_path
):
    found, data, load = offered(name, tmp_path, batching=batching)
    measured, answer = run_under(found, data, load, workers=workers, batch=batch)
    assert compare(found.oracle(data), answer, found.output).equal
    assert measured.events == data.events
    latency, warm_up, sent = measured.latency, measured.warm_up_latency, measured.sent
    assert latency is not None and warm_up is not None and sent is not None
    outputs = len(answer["ts"])
    assert latency.counts.sum() + warm_up.counts.sum() == outputs
    assert sent.own_thread and sent.lag.counts.sum() == data.events
    progress = measured.progress
    assert progress is not None
    assert progress.emitted.sum() == progress.consumed.sum() == data.events
    assert progress.outputs.sum() == outputs
    assert ((progress.latency_max_ns >= 0) == (progress.outputs > 0)).all()


def test_warm_up_outputs_are_those_due_before_its_end(tmp_path):
    found, data, load = offered("page_view_join", tmp_path)
    measured, answer = run_under(found, data, load, workers=1, batch=16)
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
    measured, _ = run_under(found, data, load, workers=2, batch=64)
    assert measured.latency is not None
    # A latency below zero would have been counted as 0: handing over alone takes longer than that.
    assert measured.latency.values_ns.min() > 0


def test_without_measuring_the_answer_is_the_same_and_no_figure_is_made_up(tmp_path):
    found = workload("event_window")
    data = generated(found, {}, 100_000, 1)
    run = DgsRun(found.program, data, RunSettings(workers=2, batch=256, measure=False))
    measured = run.run()
    assert compare(found.oracle(data), run.answer(), found.output).equal
    assert measured.latency is None and measured.progress is None


def test_under_a_load_measuring_is_not_optional(tmp_path):
    found, _, load = offered("event_window", tmp_path)
    dataset = write_dataset(generated(found, {}, 1_000, 1), "event_window", tmp_path / "small")
    task = Task(
        workload=found,
        dataset=dataset,
        variant="dgs",
        workers=1,
        batch=1,
        scratch=tmp_path,
        load=load,
    )
    engine = MulticoreEngine()
    assert engine.unsupported(task) is None
    refused = engine.unsupported(replace(task, options={"measure": False}))
    assert refused is not None and "without a load" in refused


def test_due_times_that_decrease_are_refused(tmp_path):
    found, data, load = offered("event_window", tmp_path)
    load.due_ns[0][:] = load.due_ns[0][::-1].copy()
    with pytest.raises(EngineError, match="due times of stream 0 decrease"):
        DgsRun(found.program, data, RunSettings(workers=1, batch=1, load=load))


@pytest.mark.full  # seconds of both cores; `lab doctor` measures one in its own test
def test_the_generators_ceiling_is_a_rate_and_grows_with_the_batch():
    engine = MulticoreEngine()
    ceilings = [engine.generator_ceiling_eps("dgs", batch) for batch in (1, 64)]
    assert all(ceiling is not None and np.isfinite(ceiling) for ceiling in ceilings)
    assert 0 < ceilings[0] < ceilings[1]
