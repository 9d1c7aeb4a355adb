"""The hand-written joins: the oracle's and the O+'s answer, at edges and under loads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineError, UnsupportedError
from streamlab.engines.multicore._core import JOIN_KINDS as JOINS
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.joins.run import ADHOC, INDEXED, SINGLE, JoinsRun
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.model import Input, Query, Stream
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.streams import generated

WS_MS = 5
SMALL = workload("scale_join").bound({"ws_ms": WS_MS, "shares": 3})
WORKERS = [(ADHOC, 1), (ADHOC, 2), (ADHOC, 5), (SINGLE, 1), (INDEXED, 1)]
NEAR = st.integers(-11, 11)
"""Differences within the band of 10, on its edges and just outside."""


def run_of(variant, found, data, workers=1, batch=64, ring_blocks=64, form="tiles", **options):
    run = JoinsRun(
        variant,
        found.program,
        data,
        RunSettings(workers=workers, batch=batch, ring_blocks=ring_blocks, **options),
        form,
    )
    try:
        measured = run.run()
        assert measured.events == data.events
        return measured, run.answer()
    finally:
        run.close()


def vsn_of(found, data, workers):
    run = OplusRun(found.program, data, RunSettings(workers=workers, batch=64))
    try:
        return run.run(), run.answer()
    finally:
        run.close()


def in_window(data, ws_ms):
    """Return how many pairs are at most `ws_ms` apart."""
    left, right = (stream.ts for stream in data.streams)
    first = np.searchsorted(right, left - ws_ms, side="left")
    return int((np.searchsorted(right, left + ws_ms, side="right") - first).sum())


def two_streams(data):
    """Return the input with one stream of each side: those of the same side laid together."""
    sides = []
    for kind, name in enumerate(("left", "right")):
        parts = [stream for stream in data.streams if stream.kinds == (kind,)]
        if not parts:
            return None
        ts = np.concatenate([part.ts for part in parts])
        order = np.argsort(ts, kind="stable")
        payload = {
            column: np.concatenate([np.asarray(part.payload[column]) for part in parts])[order]
            for column in parts[0].payload
        }
        sides.append(Stream(name=name, kinds=(kind,), ts=ts[order], payload=payload))
    return Input(alphabet=data.alphabet, streams=tuple(sides))


@settings(deadline=None, max_examples=examples(60))
@given(inputs(SMALL.program, values=NEAR), st.sampled_from(WORKERS), st.sampled_from([1, 3, 64]))
def test_any_small_input_gives_the_oracles_pairs(drawn, which, batch):
    data = two_streams(drawn)
    if data is None:
        return
    variant, workers = which
    measured, answer = run_of(variant, SMALL, data, workers, batch)
    assert compare(SMALL.oracle(data), answer, SMALL.output).equal
    if variant != INDEXED:
        assert measured.counters["comparisons"] == in_window(data, WS_MS)


@pytest.fixture(scope="module")
def dense():
    """An input in which many pairs match, ties are many, and a window holds a quarter of it."""
    found = workload("scale_join").bound({"ws_ms": 250})
    params = {"highest": 300, "left_eps": 3000, "right_eps": 2000, "fraction_bits": 2}
    data = generated(found, params, 5_000, 3)
    return found, data, found.oracle(data)


@pytest.mark.parametrize(("variant", "workers"), [(ADHOC, 1), (ADHOC, 2), (ADHOC, 4), (SINGLE, 1)])
@pytest.mark.parametrize("batch", [1, 64, 4096])
def test_a_tuple_at_a_time_gives_the_same_pairs_by_as_many_comparisons(
    variant, workers, batch, dense
):
    found, data, expected = dense
    measured, answer = run_of(variant, found, data, workers, batch, form="tuples")
    assert compare(expected, answer, found.output).equal
    assert measured.counters["comparisons"] == in_window(data, 250)
    assert "vector_bits" not in measured.counters


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize(("variant", "workers"), WORKERS)
@pytest.mark.parametrize("batch", [1, 64, 100_000])
def test_every_variant_gives_the_oracles_answer(variant, workers, batch, dense):
    found, data, expected = dense
    measured, answer = run_of(variant, found, data, workers, batch)
    assert len(answer["ts"]) > 1_000
    assert (np.diff(answer["ts"]) >= 0).all()
    assert compare(expected, answer, found.output).equal
    assert measured.progress is not None
    assert measured.progress.consumed.sum() == data.events


def test_one_thread_gives_the_rows_of_one_instance_in_the_same_order(dense):
    found, data, _ = dense
    measured, expected = vsn_of(found, data, 1)
    for variant in JOINS:
        joined, answer = run_of(variant, found, data)
        for name, values in expected.items():
            assert np.array_equal(answer[name], values), (variant, name)
        if variant != INDEXED:
            assert joined.counters["comparisons"] == measured.counters["comparisons"]


def test_comparisons_are_the_pairs_in_the_window_and_candidates_are_fewer(dense):
    found, data, _ = dense
    pairs = in_window(data, 250)
    for variant, workers in WORKERS:
        counters = run_of(variant, found, data, workers)[0].counters
        if variant == INDEXED:
            assert "comparisons" not in counters
            assert 0 < counters["candidates"] < pairs / 10
        else:
            assert "candidates" not in counters
            assert counters["comparisons"] == pairs


def test_joins_that_compare_all_pairs_name_the_width_of_their_vectors(dense):
    found, data, _ = dense
    flags = Path("/proc/cpuinfo").read_text().split()
    widest = 512 if "avx512vl" in flags else 256 if "avx2" in flags else 128
    for variant, workers in WORKERS:
        counters = run_of(variant, found, data, workers)[0].counters
        if variant == INDEXED:
            assert "vector_bits" not in counters
        else:
            assert counters["vector_bits"] == widest
    compiled = vsn_of(found, data, 1)[0].counters["vector_bits"]
    assert compiled in (128, 256, 512) and compiled <= widest


@pytest.mark.parametrize(("variant", "workers"), WORKERS)
def test_a_side_without_tuples_gives_nothing(variant, workers, dense):
    found, data, _ = dense
    for side in (0, 1):
        streams = list(data.streams)
        empty = {name: values[:0] for name, values in streams[side].payload.items()}
        streams[side] = replace(streams[side], ts=streams[side].ts[:0], payload=empty)
        measured, answer = run_of(variant, found, replace(data, streams=tuple(streams)), workers)
        assert len(answer["ts"]) == 0
        assert measured.counters.get("comparisons", 0) == 0


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize(("variant", "workers"), WORKERS)
@pytest.mark.parametrize("batching", ["adaptive", "full"])
def test_an_offered_load_loses_nothing_and_times_every_output(variant, workers, batching, tmp_path):
    found = workload("scale_join").bound({"ws_ms": 300})
    params = {"highest": 400, "left_eps": 3000, "right_eps": 3000}
    dataset = write_dataset(generated(found, params, 6_000, 1), "scale_join", tmp_path)
    spec = LoadSpec(rate_eps=20_000.0, warm_up_s=0.05, window_s=0.2, batching=batching)
    made = offer(spec, dataset)
    data = made.dataset.load()
    measured, answer = run_of(
        variant, found, data, workers, batch=16, ring_blocks=1024, load=made.load
    )
    assert len(answer["ts"]) > 100
    assert compare(found.oracle(data), answer, found.output).equal
    latency, warm_up, sent = measured.latency, measured.warm_up_latency, measured.sent
    assert latency is not None and warm_up is not None and sent is not None
    assert latency.counts.sum() + warm_up.counts.sum() == len(answer["ts"])
    assert latency.values_ns.min() > 0
    assert sent.own_thread and sent.lag.counts.sum() == data.events


def test_the_adapter_runs_them_and_says_what_it_cannot(tmp_path):
    found = workload("scale_join").bound({"ws_ms": 200})
    data = generated(found, {"highest": 300}, 1_000, 1)
    task = Task(
        workload=found,
        dataset=write_dataset(data, "scale_join", tmp_path),
        variant=ADHOC,
        workers=2,
        batch=64,
        scratch=tmp_path,
    )
    engine = MulticoreEngine()
    prepared = engine.prepare(task)
    prepared.run()
    assert compare(found.oracle(data), prepared.answer(), found.output).equal
    prepared.close()
    for variant in (SINGLE, INDEXED):
        assert engine.unsupported(replace(task, variant=variant, workers=1)) is None
        assert "has one thread" in str(engine.unsupported(replace(task, variant=variant)))
    reason = engine.unsupported(replace(task, workload=workload("event_window")))
    assert reason == "event_window is a DGS program; give variants = ['dgs']"
    for other in ("nyse_hedge", "wordcount"):
        reason = engine.unsupported(replace(task, workload=workload(other)))
        assert f"hand-written for workload scale_join, and cannot run {other}" in str(reason)
    single = replace(task, variant=INDEXED, workers=1, options={"join_form": "tuples"})
    assert "has no option join_form" in str(engine.unsupported(single))
    wrong = replace(task, options={"join_form": "fused"})
    assert "join_form" in str(engine.unsupported(wrong))
    reason = engine.unsupported(replace(task, options={"max_instances": 4}))
    assert "has no option 'max_instances'" in str(reason)
    assert set(JOINS) <= {variant.name for variant in engine.variants()}
    assert not engine.properties("scale_join", ADHOC)["PIP1"].holds


def test_more_streams_of_a_side_are_refused():
    found = workload("scale_join").bound({"ws_ms": 200})
    data = generated(found, {"streams": 2}, 400, 1)
    with pytest.raises(UnsupportedError, match="generate it with streams = 1"):
        JoinsRun(ADHOC, found.program, data, RunSettings())


def test_an_option_out_of_range_is_an_error_and_a_closed_run_says_so():
    found = workload("scale_join").bound({"ws_ms": 200})
    data = generated(found, {}, 400, 1)
    assert isinstance(found.program, Query)
    with pytest.raises(EngineError, match="batch must be at least 1"):
        JoinsRun(ADHOC, found.program, data, RunSettings(batch=0))
    run = JoinsRun(SINGLE, found.program, data, RunSettings())
    run.close()
    with pytest.raises(EngineError, match="closed"):
        run.run()
