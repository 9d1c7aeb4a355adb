"""Spark under an offered load: files on schedule, exact latencies, the oracle's answer."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.conformance_load import small_load
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.recording import STEP_NS
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.dgs import DgsQuery
from streamlab.engines.spark.streaming import file_source
from streamlab.engines.spark.streaming.chunk import Pending
from streamlab.engines.spark.streaming.file_source import Dropper
from streamlab.engines.spark.streaming.load_files import BEATS, cut, stage
from streamlab.engines.spark.streaming.open_loop import (
    Batch,
    due_times,
    measure,
)
from streamlab.engines.spark.workloads import PROGRAMS
from streamlab.workloads.datasets.time_cutoff import event_times, truncate
from streamlab.workloads.registry import workload
from tests.engines.clock import load_of
from tests.engines.inputs import tied_input
from tests.engines.spark.runs import spark_task
from tests.engines.tasks import check_task

MS = 1_000_000


def array(*values):
    return np.array(values, dtype=np.int64)


def due_in_order(times, span_ns):
    """Spread all events evenly over a span, in their total order."""
    events = sum(map(len, times))
    return small_load(times, np.arange(events) * span_ns // max(1, events)).due_ns


def run(name, dataset, folder, load, **options):
    options = {"file_ms": 40} | options
    task = replace(spark_task(name, dataset, folder, **options), load=load)
    return check_task(SparkEngine(), task)


@pytest.mark.full
@pytest.mark.pairwise(strength=1)
@pytest.mark.spark
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_the_oracles_whatever_files_a_micro_batch_takes(name, spark, tmp_path):
    data = tied_input(name, fewest=1, seed=len(name))
    due = due_in_order([stream.ts for stream in data.streams], 800 * MS)
    dataset = write_dataset(data, name, tmp_path / "data")
    load = load_of(due, warm_up_ns=400 * MS)
    measured, answer = run(name, dataset, tmp_path, load)
    outputs = len(answer["ts"])
    assert measured.latency.counts.sum() + measured.warm_up_latency.counts.sum() == outputs
    assert measured.service_latency.counts.sum() == measured.latency.counts.sum()
    progress = measured.progress
    assert progress.outputs.sum() == outputs
    assert progress.emitted.sum() == progress.consumed.sum() == dataset.events
    assert (np.cumsum(progress.consumed) <= np.cumsum(progress.emitted)).all()
    assert measured.sent.events == measured.sent.lag.counts.sum() == dataset.events
    assert measured.sent.own_thread


@pytest.mark.spark
def test_an_empty_input_ends_at_once(spark, tmp_path):
    data = tied_input("event_window", fewest=1, seed=1)
    whole = write_dataset(data, "event_window", tmp_path / "data")
    empty = truncate(whole, event_times(whole), -100)
    measured, answer = run("event_window", empty, tmp_path, load_of([array()] * 5))
    assert len(answer["ts"]) == 0
    assert measured.latency.counts.sum() == 0


@pytest.mark.spark
def test_a_query_that_fails_under_a_load_is_a_crash(spark, tmp_path):
    data = tied_input("event_window", fewest=1, seed=4)
    due = due_in_order([stream.ts for stream in data.streams], 100 * MS)
    given = replace(spark_task("event_window", data, tmp_path), load=load_of(due))
    prepared = SparkEngine().prepare(given)
    for file in given.scratch.rglob("staging/stream-0/*.parquet"):
        file.write_bytes(b"damaged")
    with pytest.raises(EngineCrashError, match="event_window"):
        prepared.run()
    prepared.close()


def test_only_variants_that_take_a_load_have_a_ceiling():
    assert SparkEngine().generator_ceiling_eps("batch", 64) is None
    assert SparkEngine().generator_ceiling_eps("streaming", 64) > 1e6


def test_a_drop_holds_what_came_due_in_its_period_and_a_silent_period_has_none():
    ts = (array(1, 2, 9), array(2, 9, 9))
    due = (array(0, 9, 35), array(10, 36, 37))
    drops = cut(ts, due, end_ns=38, period_ns=10)
    assert drops.planned_ns.tolist() == [10, 20, 38]
    assert [rows.tolist() for rows in drops.rows] == [[0, 2, 2, 3], [0, 0, 1, 3]]
    assert drops.events.tolist() == [2, 1, 3]


def test_a_beat_promises_what_is_true_and_as_much_as_the_drop_shows():
    rng = np.random.default_rng(3)
    for _ in range(200):
        ts = tuple(np.sort(rng.integers(0, 8, rng.integers(0, 9))) for _ in range(3))
        due = tuple(due_in_order(ts, 100))
        drops = cut(ts, due, end_ns=100, period_ns=int(rng.integers(5, 60)))
        for place in range(len(drops)):
            pending = Pending()
            for src, times in enumerate(ts):
                rows, beat = int(drops.rows[src][place + 1]), int(drops.beats[src][place])
                assert (times[rows:] >= beat).all()
                if rows:
                    pending.add(src, [{"ts": times[:rows]}], promised=True)
                pending.promise(src, beat, rows)
            pending.settle()
            taken = pending.take((0, 1, 2))
            assert sum(len(run["ts"]) for run in taken.values()) == sum(
                drops.rows[src][place + 1] for src in range(3)
            )


def test_a_beat_waits_for_all_files_of_its_drop():
    pending = Pending()
    pending.promise(0, 5, 2)
    pending.promise(0, 8, 4)
    pending.add(0, [{"ts": array(6, 8)}], promised=True)
    pending.settle()
    assert pending.take((0,)) == {}
    pending.add(0, [{"ts": array(3, 5)}], promised=True)
    pending.settle()
    assert pending.take((0,))[0]["ts"].tolist() == [3, 5, 6, 8]
    assert pending.released == {0: 4}


def test_files_that_spark_read_in_another_order_are_put_in_order():
    pending = Pending()
    pending.add(0, [{"ts": array(4, 4, 1, 4), "pos": array(4, 5, 0, 3)}], promised=True)
    pending.add(0, [{"ts": array(2, 3), "pos": array(1, 2)}], promised=True)
    pending.promise(0, 4, 6)
    pending.settle()
    assert pending.take((0,))[0]["pos"].tolist() == [0, 1, 2, 3, 4, 5]


def test_staged_files_hold_every_row_once_in_order_of_modification_time(tmp_path):
    data = tied_input("page_view_join", fewest=1, seed=8)
    dataset = write_dataset(data, "page_view_join", tmp_path / "data")
    ts = event_times(dataset)
    drops = cut(ts, due_in_order(ts, 100), end_ns=100, period_ns=9)
    query = DgsQuery(workload=workload(dataset.workload), output=(), form="packed", workers=2)
    moves = stage(query, dataset, drops, tmp_path / "staging", tmp_path / "watched")
    assert len(moves) == len(drops)
    assert all(Path(drop[-1][0]).parent.name == BEATS for drop in moves)
    for src, times in enumerate(ts):
        files = (tmp_path / "staging" / f"stream-{src}").iterdir()
        ordered = sorted(files, key=lambda file: file.stat().st_mtime_ns)
        assert [file.name for file in ordered] == sorted(file.name for file in ordered)
        found = np.concatenate([array(), *(pq.read_table(f)["ts"].to_numpy() for f in ordered)])
        assert found.tolist() == times.tolist()


def test_the_dropper_drops_on_time_whatever_happens_to_its_files(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(name)
    moves = [[(str(tmp_path / name), str(tmp_path / f"{name}-dropped"))] for name in "abc"]
    planned = [5 * MS, 10 * MS, 10 * MS]
    running = Dropper(planned, moves, tmp_path / "plan.json")
    try:
        running.start(time.monotonic_ns())
        times = running.result().times_ns
    finally:
        running.close()
    assert all(at >= plan for at, plan in zip(times, planned, strict=True))
    assert {path.name for path in tmp_path.iterdir()} == {
        "plan.json", "a-dropped", "b-dropped", "c-dropped",
    }  # fmt: skip


def test_a_dropper_that_is_never_started_ends_with_its_parent(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"planned_ns": [0], "moves": [[["nowhere", "there"]]]}))
    done = subprocess.run(
        [sys.executable, "-I", "-S", file_source.__file__, str(plan)],
        input="",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "ready\n")


def test_an_output_is_stamped_with_its_own_event_and_a_tie_with_the_first():
    output = {"ts": array(7, 7, 9), "src": array(1, 0, 1)}
    ts = (array(7, 7), array(1, 7, 9))
    assert due_times(output, ts, (array(20, 30), array(0, 40, 50))).tolist() == [40, 20, 50]


def test_latency_runs_from_due_time_and_service_latency_from_the_micro_batch():
    ts, due = (array(1, 2, 3),), (array(0, 10 * MS, 120 * MS),)
    drops = cut(ts, due, end_ns=130 * MS, period_ns=100 * MS)
    dropped = drops.planned_ns + MS
    batches = [
        Batch(taken_ns=102 * MS, done_ns=150 * MS, outputs=2, processed=2),
        Batch(taken_ns=200 * MS, done_ns=310 * MS, outputs=1, processed=3),
    ]
    output = {"ts": ts[0], "src": np.zeros(3, dtype=np.int16)}
    load = load_of(due, warm_up_ns=5 * MS)
    found = measure(batches, output, ts, load, drops, dropped)
    assert near(found.latency, {140 * MS: 1, 190 * MS: 1})
    assert near(found.warm_up_latency, {150 * MS: 1})
    assert near(found.service_latency, {48 * MS: 1, 110 * MS: 1})
    assert found.progress.step_ns == STEP_NS
    assert found.progress.emitted.tolist() == [0, 3, 0, 0]
    assert found.progress.consumed.tolist() == [0, 2, 0, 1]
    assert found.progress.outputs.tolist() == [0, 2, 0, 1]
    assert found.progress.latency_max_ns.tolist()[::2] == [-1, -1]
    assert near(found.sent.lag, {MS: 3})


def near(histogram, expected):
    values = np.array(list(expected))
    return histogram.counts.tolist() == list(expected.values()) and bool(
        (np.abs(histogram.values_ns - values) <= values / 1000).all()
    )
