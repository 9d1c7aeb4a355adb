"""Queries of operators on Spark: cuts, states and files, or a refusal with its reason."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.operators.clock import clock
from streamlab.engines.spark.operators.run import OperatorQuery
from streamlab.workloads.datasets.time_cutoff import event_times, truncate
from streamlab.workloads.model import ModelError
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.engines.inputs import head
from tests.engines.spark.inputs import PARAMS, operator_input
from tests.engines.spark.runs import VARIANTS, assert_right, micro_batch_options, spark_task


def task(name, data, folder, *, params=None, **given):
    chosen = workload(name).bound(PARAMS.get(name, {}) if params is None else params)
    return spark_task(chosen, data, folder, **given)


@pytest.mark.pairwise(strength=1)
@pytest.mark.spark
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["paircount", "scale_join"])
def test_a_dataset_that_is_cut_counts_time_up_to_the_cut(name, variant, spark, tmp_path):
    params = {"wa_ms": 30, "ws_ms": 60, "distance": 0} if name == "paircount" else None
    data = operator_input(name, seed=4, mixed=name == "scale_join")
    given = task(
        name, data, tmp_path, variant=variant, params=params, **micro_batch_options(variant, 2)
    )
    # In the gap: the last window before it is closed by the cut alone.
    short = truncate(given.dataset, event_times(given.dataset), 61)
    assert 0 < short.events < given.dataset.events
    _, outputs = assert_right(replace(given, dataset=short))
    last = given.workload.oracle(short.load())["ts"].max()
    assert outputs
    assert name != "paircount" or last == 60 > max(s.ts_max for s in short.streams)


@pytest.mark.pairwise(strength=1)
@pytest.mark.spark
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_flushed_query_gets_its_last_windows(variant, spark, tmp_path):
    params = {"wa_ms": 30, "ws_ms": 60, "distance": 0}
    data = operator_input("paircount", seed=4)
    given = task("paircount", data, tmp_path, variant=variant, params=params)
    program = replace(given.workload.program, at_end="flush")
    flushing = replace(given, workload=replace(given.workload, program=program))
    _, outputs = assert_right(flushing)
    assert outputs > len(given.workload.oracle(data)["ts"])


@pytest.mark.spark
def test_a_stream_join_lets_go_of_tuples_that_the_watermark_has_passed(spark, tmp_path):
    data = operator_input("scale_join", seed=2)
    kept = replace(data, streams=data.streams[:2])
    given = task("scale_join", kept, tmp_path, micro_batches=4)
    measured, _ = assert_right(given)
    left, right = (len(stream) for stream in kept.streams)
    copies = 5
    assert measured.counters["state_rows_peak"] < (left + copies * right) / 2


def test_windows_that_overlap_too_much_for_a_plan_are_refused(tmp_path):
    data = operator_input("wordcount", seed=1)
    given = task("wordcount", data, tmp_path, params={"wa_ms": 1, "ws_ms": 1001})
    assert "1,001 windows of 1001 ms every 1 ms" in SparkEngine().unsupported(given)
    given = replace(given, workload=workload("wordcount").bound({"wa_ms": 1, "ws_ms": 1000}))
    assert SparkEngine().unsupported(given) is None


def far(name, ts, folder):
    data = operator_input(name, seed=1)
    moved = replace(head(data.streams[0], 1), ts=np.array([ts]))
    return task(name, replace(data, streams=(moved, *data.streams[1:])), folder)


def test_event_times_that_no_timestamp_holds_are_refused_where_time_is_used(tmp_path):
    for name in ("wordcount", "scale_join"):
        given = far(name, 2**60, tmp_path / name)
        assert "64-bit microseconds" in SparkEngine().unsupported(given)
    assert SparkEngine().unsupported(far("forward", 2**60, tmp_path / "forward")) is None


@pytest.mark.parametrize("name", ["forward", "wordcount"])
def test_event_times_that_the_model_refuses_are_refused_as_by_the_reference(name, tmp_path):
    given = far(name, 2**62 - 1, tmp_path / "late")
    reason = SparkEngine().unsupported(given)
    with pytest.raises(ModelError) as error:
        answer_of(given.workload.program, given.dataset.load())
    assert reason == str(error.value)
    assert f"stream stream-0 with times up to {2**62 - 1} from 0" in reason
    early = far(name, -(2**62), tmp_path / "early")
    assert "exceed 2**62" in SparkEngine().unsupported(early)
    # Where a dataset is cut counts as much.
    cut = replace(far(name, 5, tmp_path / "cut").dataset, until_ts=2**62)
    reason = SparkEngine().unsupported(replace(given, dataset=cut))
    assert f"the end of the input, {2**62}" in reason


def test_an_input_without_a_stream_of_a_kind_is_refused(tmp_path):
    data = operator_input("scale_join", seed=1)
    left = replace(data, streams=data.streams[:1])
    reason = SparkEngine().unsupported(task("scale_join", left, tmp_path))
    assert reason == "spark scale_join needs a stream of kind right; the dataset has none"


@pytest.mark.parametrize("first", [-(10**12), -1, 0, 1, 10**15])
def test_the_clock_moves_by_whole_advances_and_keeps_all_times_above_its_origin(first, tmp_path):
    data = operator_input("wordcount", seed=3)
    moved = [replace(s, ts=s.ts - s.ts.min(initial=0) + first) for s in data.streams]
    found = task("wordcount", replace(data, streams=tuple(moved)), tmp_path).dataset
    times = clock(found, 7)
    assert times.origin % 7 == 0
    assert 7 <= first - times.origin < 14
    assert times.end == max(int(s.ts[-1]) for s in moved if len(s))


def cut(given, folder, files):
    """Split an input into files; return its parts."""
    query = OperatorQuery(workload=given.workload, output=(), form="pairs", workers=2)
    query.cut(given.dataset, folder, files)
    return query.parts(given.dataset)


def test_aligned_files_end_at_one_event_time_and_lose_nothing(tmp_path):
    data = operator_input("scale_join", seed=6, mixed=True)
    given = task("scale_join", data, tmp_path)
    parts = cut(given, tmp_path / "files", 4)
    latest, rows = -1000, 0
    for place in range(4):
        tables = [
            pq.read_table(tmp_path / "files" / p.folder / f"part-0000{place}.parquet")
            for p in parts
        ]
        times = np.concatenate([table["ts"].to_numpy() for table in tables])
        assert times.min() > latest
        latest, rows = times.max(), rows + len(times)
    assert rows == given.dataset.events
    # The stream of both kinds is two parts, each with its own columns.
    assert [(p.src, p.kind) for p in parts][-2:] == [(5, 0), (5, 1)]
    assert [name for name, _ in parts[-1].columns] == ["ts", "a", "b", "c", "d"]


def test_closed_files_end_with_a_heartbeat_at_the_end_of_the_input(tmp_path):
    given = task("wordcount", operator_input("wordcount", seed=6), tmp_path)
    parts = cut(given, tmp_path / "files", 2)
    end = max(stream.ts_max for stream in given.dataset.streams)
    for part in parts:
        tables = [pq.read_table(p) for p in sorted((tmp_path / "files" / part.folder).iterdir())]
        rows = [row for table in tables for row in table.to_pylist()]
        assert len(tables) == 2
        assert len(rows) == given.dataset.streams[part.src].rows + 1
        assert rows[-1] == {"ts": end, "user": None, "chars": None, "words": None, "hashtags": None}
        assert all(row["words"] is not None for row in rows[:-1])
