"""The hand-written joins: the oracle's and the O+'s answer, at edges and under loads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamlab.engines.errors import EngineError, UnsupportedError
from streamlab.engines.multicore._core import JOIN_KINDS as JOINS
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.joins.run import ADHOC, INDEXED, SINGLE
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.registry import workload
from tests.engines.inputs import head
from tests.engines.multicore.native_runs import check_native, make_run, run_native
from tests.engines.tasks import check_task, task_of
from tests.workloads.suite.streams import generated

WORKERS = [(ADHOC, 1), (ADHOC, 2), (ADHOC, 5), (SINGLE, 1), (INDEXED, 1)]


def run_of(variant, found, data, workers=1, batch=64, form="tiles", **how):
    """Return what was measured, and an answer that is the oracle's."""
    how |= {"workers": workers, "batch": batch, "join_form": form}
    return check_native(variant, found, data, **how)


def in_window(data, ws_ms):
    """Return how many pairs are at most `ws_ms` apart."""
    left, right = (stream.ts for stream in data.streams)
    first = np.searchsorted(right, left - ws_ms, side="left")
    return int((np.searchsorted(right, left + ws_ms, side="right") - first).sum())


@pytest.fixture(scope="module")
def dense():
    """A workload, and an input in which many pairs match, ties are many, and a window holds a quarter of it."""
    subject = workload("scale_join").bound({"ws_ms": 250})
    params = {"highest": 300, "left_eps": 3000, "right_eps": 2000, "fraction_bits": 2}
    data = generated(subject, params, 5_000, 3)
    return subject, data


@pytest.mark.parametrize(
    ("variant", "workers", "log"),
    [(ADHOC, n, log) for n in (1, 2, 4) for log in ("order", "scalegate")] + [(SINGLE, 1, "order")],
)
@pytest.mark.parametrize("batch", [1, 64, 4096])
def test_a_tuple_at_a_time_gives_the_same_pairs_by_as_many_comparisons(
    variant, workers, log, batch, dense
):
    measured, _ = run_of(variant, *dense, workers, batch, form="tuples", tuple_buffer=log)
    data = dense[1]
    assert measured.counters["comparisons"] == in_window(data, 250)
    assert "vector_bits" not in measured.counters


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize(("variant", "workers"), WORKERS)
@pytest.mark.parametrize("batch", [1, 64, 100_000])
def test_every_variant_gives_the_oracles_answer(variant, workers, batch, dense):
    measured, answer = run_of(variant, *dense, workers, batch)
    assert len(answer["ts"]) > 1_000
    assert (np.diff(answer["ts"]) >= 0).all()
    counters, pairs = measured.counters, in_window(dense[1], 250)
    if variant == INDEXED:
        assert {"comparisons", "vector_bits"}.isdisjoint(counters)
        assert 0 < counters["candidates"] < pairs / 10
    else:
        assert "candidates" not in counters
        assert counters["comparisons"] == pairs
        assert counters["vector_bits"] == widest_vector()


def widest_vector():
    """Return the bits of the widest vectors of this machine."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return 512 if "avx512vl" in flags else 256 if "avx2" in flags else 128


def test_one_thread_gives_the_rows_of_one_instance_in_the_same_order(dense):
    measured, expected = run_native("vsn", dense[0].program, dense[1], batch=64)
    compiled = measured.counters["vector_bits"]
    assert compiled in (128, 256, 512) and compiled <= widest_vector()
    for variant in JOINS:
        joined, answer = run_of(variant, *dense)
        for name, values in expected.items():
            assert np.array_equal(answer[name], values), (variant, name)
        if variant != INDEXED:
            assert joined.counters["comparisons"] == measured.counters["comparisons"]


@pytest.mark.parametrize(("variant", "workers"), WORKERS)
def test_a_side_without_tuples_gives_nothing(variant, workers, dense):
    found, data = dense
    for side in (0, 1):
        streams = list(data.streams)
        streams[side] = head(streams[side], 0)
        measured, answer = run_of(variant, found, replace(data, streams=tuple(streams)), workers)
        assert len(answer["ts"]) == 0
        assert measured.counters.get("comparisons", 0) == 0


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize(("variant", "workers"), WORKERS)
@pytest.mark.parametrize("batching", ["adaptive", "full"])
def test_an_offered_load_loses_nothing_and_times_every_output(variant, workers, batching, tmp_path):
    subject = workload("scale_join").bound({"ws_ms": 300})
    params = {"highest": 400, "left_eps": 3000, "right_eps": 3000}
    dataset = write_dataset(generated(subject, params, 6_000, 1), "scale_join", tmp_path)
    spec = LoadSpec(rate_eps=20_000.0, warm_up_s=0.05, window_s=0.2, batching=batching)
    made = offer(spec, dataset)
    how = {"batch": 16, "ring_blocks": 1024, "load": made.load}
    measured, answer = run_of(variant, subject, made.dataset.load(), workers, **how)
    assert len(answer["ts"]) > 100
    assert measured.latency.values_ns.min() > 0
    assert measured.sent.own_thread and measured.sent.lag.counts.sum() == measured.events


def test_the_adapter_runs_user_commands_and_states_its_limits(tmp_path):
    subject = workload("scale_join").bound({"ws_ms": 200})
    data = generated(subject, {"highest": 300}, 1_000, 1)
    task = task_of(subject, data, tmp_path, ADHOC, workers=2, batch=64)
    engine = MulticoreEngine()
    check_task(engine, task)
    for variant in (SINGLE, INDEXED):
        assert engine.unsupported(replace(task, variant=variant, workers=1)) is None
        assert "has one thread" in str(engine.unsupported(replace(task, variant=variant)))
    for other in ("nyse_hedge", "wordcount"):
        reason = engine.unsupported(replace(task, workload=workload(other)))
        assert f"hand-written for workload scale_join, and cannot run {other}" in str(reason)
    single = replace(task, variant=INDEXED, workers=1, options={"join_form": "tuples"})
    assert "has no option join_form" in str(engine.unsupported(single))
    for variant in (SINGLE, INDEXED):
        gated = replace(task, variant=variant, workers=1, options={"tuple_buffer": "scalegate"})
        assert "has no log; remove the option tuple_buffer" in str(engine.unsupported(gated))
    wrong = replace(task, options={"join_form": "fused"})
    assert "join_form" in str(engine.unsupported(wrong))


def test_more_streams_of_a_side_are_refused():
    subject = workload("scale_join").bound({"ws_ms": 200})
    data = generated(subject, {"streams": 2}, 400, 1)
    with pytest.raises(UnsupportedError, match="generate it with streams = 1"):
        make_run(ADHOC, subject.program, data)


def test_an_option_out_of_range_is_an_error():
    subject = workload("scale_join").bound({"ws_ms": 200})
    data = generated(subject, {}, 400, 1)
    with pytest.raises(EngineError, match="batch must be at least 1"):
        make_run(ADHOC, subject.program, data, batch=0)
