"""Spark gives every oracle's answer in every form, and leaves nothing behind."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import (
    EngineCrashError,
    EngineError,
    OutOfMemoryError,
    UnsupportedError,
)
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.batch import windows
from streamlab.engines.spark.batch.windows import Separators
from streamlab.engines.spark.dgs import DgsQuery
from streamlab.engines.spark.files import END
from streamlab.engines.spark.prepared import crash_errors
from streamlab.engines.spark.streaming.groups import labels, murmur3
from streamlab.engines.spark.workloads import (
    BATCH_ONLY,
    FORMS,
    LACKING,
    OPERATORS,
    PIPELINES,
    PROGRAMS,
    WORKLOADS,
    SparkOptions,
    form_of,
)
from streamlab.workloads.model import Pipeline, Query
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import workload
from tests.engines.clock import load_at_once
from tests.engines.inputs import head, tied_input, without_events
from tests.engines.spark.inputs import PARAMS, spark_input
from tests.engines.spark.runs import VARIANTS, assert_right, micro_batch_options, spark_task
from tests.workloads.suite.small_inputs import event_time_workloads


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "variant"),
    # `cached` runs the queries of `batch`.
    [
        (name, variant)
        for name in WORKLOADS
        for variant in VARIANTS
        if variant != "streaming" or name not in BATCH_ONLY
    ],
)
def test_the_answer_is_the_oracles_with_ties_and_unaligned_streams(name, variant, spark, tmp_path):
    form = form_of(name, variant)
    data = spark_input(name, seed=len(variant + form))
    how = {"variant": variant, **micro_batch_options(variant, 3)}
    chosen = workload(name).bound(PARAMS.get(name, {}))
    measured, outputs = assert_right(spark_task(chosen, data, tmp_path, **how))
    assert measured.plan == f"{variant}, form {form}"
    assert outputs


@pytest.mark.spark
def test_checkpoints_are_written_by_what_starts_no_process_to_look(spark, tmp_path):
    java, hadoop = spark._jvm, spark._jsparkSession.sessionState().newHadoopConf()
    folder = java.org.apache.hadoop.fs.Path(str(tmp_path))
    checkpointing = java.org.apache.spark.sql.execution.streaming.checkpointing
    manager = checkpointing.CheckpointFileManager.create(folder, hadoop)
    # The other one asks `readlink`, where Hadoop's native library is not installed.
    assert manager.getClass().getSimpleName() == "FileSystemBasedCheckpointFileManager"


@pytest.mark.parametrize("variant", FORMS)
def test_queries_of_programs_refuse_streams_of_several_kinds(variant, tmp_path):
    data = tied_input("event_window", seed=11, mixed=True)
    given = spark_task("event_window", data, tmp_path, variant=variant)
    assert "stream stream-4 has several kinds" in SparkEngine().unsupported(given)


EMPTY = [
    *product(PROGRAMS, FORMS),
    *product(("nyse_hedge", "wordcount"), VARIANTS),
    pytest.param("cart_abandonment", "streaming", marks=pytest.mark.full),
    pytest.param("items_sold_together", "batch", marks=pytest.mark.full),
]


@pytest.mark.some(2)
@pytest.mark.spark
@pytest.mark.parametrize(("name", "variant"), EMPTY)
def test_an_empty_input_gives_an_empty_answer(name, variant, spark, tmp_path):
    empty = without_events(spark_input(name, seed=1))
    _, outputs = assert_right(spark_task(name, empty, tmp_path, variant=variant))
    assert not outputs


@pytest.mark.some(1)
@pytest.mark.spark
@pytest.mark.parametrize("variant", FORMS)
def test_bulk_events_without_markers_are_not_lost(variant, spark, tmp_path):
    data = tied_input("page_view_join", seed=2)
    unmarked = replace(
        data, streams=tuple(head(s, 0) if s.kinds == (1,) else s for s in data.streams)
    )
    assert_right(spark_task("page_view_join", unmarked, tmp_path, variant=variant))


@pytest.mark.spark
def test_labels_spread_groups_evenly_as_spark_hashes_them(spark):
    found = labels(8)
    rows = spark.sql(f"select x, hash(x) as h from explode(array{found}) as t(x)").collect()
    assert [row.h for row in rows] == [murmur3(row.x) for row in rows]
    for parts in range(1, 9):
        assert [row.h % parts for row in rows] == [group % parts for group in range(8)]


@pytest.mark.spark
def test_crowded_markers_give_the_oracles_answer(spark, tmp_path):
    data = tied_input("keyed_counter", seed=3, keys=1)
    crowd = np.full(2 * windows.MAX_PER_BUCKET, 7)
    marked = replace(
        data.streams[1],
        ts=crowd,
        tag=np.ones(len(crowd), dtype=np.int32),
        payload={},
    )
    early = replace(data.streams[0], ts=np.arange(len(data.streams[0])))
    crowded = replace(data, streams=(early, marked, *data.streams[2:]))
    assert_right(spark_task("keyed_counter", crowded, tmp_path, variant="batch"))


@pytest.mark.spark
def test_errors_of_java_are_crashes_with_their_words(spark):
    java = spark.sparkContext._jvm.java
    words = r"event_window: (.|\n)*NullPointerException"
    with pytest.raises(EngineCrashError, match=words), crash_errors("event_window"):
        java.util.Objects.requireNonNull(None)
    with pytest.raises(OutOfMemoryError, match="use fewer events"), crash_errors("event_window"):
        java.util.Arrays.copyOf(b"x", 2**31 - 1)


@pytest.mark.spark
@pytest.mark.parametrize("variant", FORMS)
def test_a_missing_input_file_is_a_crash_that_names_the_workload(variant, spark, tmp_path):
    given = spark_task(
        "event_window", tied_input("event_window", seed=4), tmp_path, variant=variant
    )
    prepared = SparkEngine().prepare(given)
    for path in [*given.scratch.rglob("*.parquet"), *(s.path for s in given.dataset.streams)]:
        path.unlink()
    if variant == "streaming":
        (given.scratch / "input" / "stream-0").rmdir()
    with pytest.raises(EngineCrashError, match="event_window"):
        prepared.run()
    prepared.close()
    with pytest.raises(EngineError, match="closed"):
        prepared.run()


def cut(task, folder, files):
    """Split the input of a DGS program into files."""
    query = DgsQuery(workload=task.workload, output=(), form="packed", workers=2)
    query.cut(task.dataset, folder, files)


def test_an_event_at_the_time_of_the_closing_heartbeat_is_refused(tmp_path):
    data = tied_input("event_window", seed=5)
    late = replace(head(data.streams[0], 1), ts=np.array([END]))
    given = spark_task("event_window", replace(data, streams=(late, *data.streams[1:])), tmp_path)
    with pytest.raises(EngineError, match=r"stream-0.*shift the event times down"):
        cut(given, tmp_path / "files", 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"variant": "continuous"}, "no variant 'continuous'"),
        ({"options": {"speed": 1}}, "no option 'speed'"),
        ({"options": {"form": "blocks"}}, "streaming does not take option form"),
        ({"options": {"form": "buckets"}}, "form is 'buckets'; it must be one of blocks, partials"),
        (
            {"options": {"micro_batches": 0}},
            "micro_batches is 0; it must be a whole number of at least 1",
        ),
    ],
)
def test_programs_that_spark_cannot_run_are_refused_with_the_reason(change, reason, tmp_path):
    given = replace(
        spark_task("event_window", tied_input("event_window", seed=6), tmp_path), **change
    )
    assert reason in SparkEngine().unsupported(given)
    with pytest.raises(UnsupportedError, match=reason):
        SparkEngine().prepare(given)


def test_an_unknown_workload_is_refused_with_the_list_of_known_ones(tmp_path):
    given = spark_task("event_window", tied_input("event_window", seed=6), tmp_path)
    other = replace(given, workload=replace(given.workload, name="word_count"))
    assert "event_window, fraud_detection" in SparkEngine().unsupported(other)


@pytest.mark.parametrize("variant", FORMS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_query_declares_the_three_properties_with_reasons(name, variant):
    declared = SparkEngine().properties(name, variant)
    assert set(declared) == {"PIP1", "PIP2", "PIP3"}
    assert all(len(found.why) > 20 for found in declared.values())


def test_a_workload_without_a_relation_is_refused_with_the_reason(tmp_path):
    given = spark_task("parametric", ordinary_input(workload("parametric")), tmp_path)
    with pytest.raises(UnsupportedError, match="no query for parametric: its operators cost"):
        SparkEngine().prepare(given)


def test_a_join_without_a_bound_in_time_is_refused_in_micro_batches(tmp_path):
    given = spark_task("nexmark_q9", ordinary_input(workload("nexmark_q9")), tmp_path)
    with pytest.raises(UnsupportedError, match="no streaming query for nexmark_q9"):
        SparkEngine().prepare(given)


def test_every_program_has_a_relation_or_a_reason():
    queries = [name for name in event_time_workloads() if isinstance(workload(name).program, Query)]
    pipelines = [
        name for name in event_time_workloads() if isinstance(workload(name).program, Pipeline)
    ]
    assert sorted([*OPERATORS, *PIPELINES, *LACKING]) == sorted([*queries, *pipelines])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wordcount", "windows and joins do not send"),
        ("linear_road_pos_rep", "operators of a pipeline do not send"),
    ],
)
def test_a_load_is_refused_with_the_reason(name, reason, variant, tmp_path):
    given = spark_task(name, ordinary_input(workload(name)), tmp_path, variant=variant)
    loaded = replace(given, load=load_at_once([stream.rows for stream in given.dataset.streams]))
    reason = "reads its whole input at once" if variant == "batch" else reason
    assert reason in SparkEngine().unsupported(loaded)
    with pytest.raises(UnsupportedError, match=reason):
        SparkEngine().prepare(loaded)


def test_options_are_documented():
    page = Path(__file__).parents[3] / "docs" / "engines" / "spark.md"
    text = page.read_text()
    assert all(f"`{name}`" in text for name in SparkOptions.__slots__)


def test_windows_of_a_stream_before_the_markers_stream_include_ties():
    separators = Separators(
        ts=np.array([10, 10, 20]), src=np.array([1, 3, 1]), key=np.zeros(3, int), value=np.arange(3)
    )
    before, after = windows.between(separators, 2, 0, 30, separators.value)
    assert list(zip(before.first, before.last, before.id, strict=True)) == [
        (0, 9, 0),
        (10, 10, 1),
        (11, 19, 2),
    ]
    assert list(zip(after.first, after.last, after.value, strict=True)) == [
        (10, 10, 0),
        (11, 19, 1),
        (20, 30, 2),
    ]


def test_more_windows_than_spark_broadcasts_make_the_cell_unsupported():
    times = np.arange(windows.MAX_ROWS + 1)
    every = windows.Windows(key=times * 0, first=times, last=times, id=times, value=times)
    with pytest.raises(
        UnsupportedError, match=r"4,000,000 rows, and the 4,000,001 windows .* use fewer"
    ):
        windows.build(None, None, every, 0)


def test_the_split_keeps_every_row_and_closes_every_stream(tmp_path):
    given = spark_task("page_view_join", tied_input("page_view_join", seed=8), tmp_path)
    cut(given, tmp_path / "files", 3)
    for index, stream in enumerate(given.dataset.streams):
        files = sorted((tmp_path / "files" / f"stream-{index}").iterdir())
        times = np.concatenate([pq.read_table(file)["ts"].to_numpy() for file in files])
        whole = pq.read_table([*stream.paths])["ts"].to_numpy()
        assert times.tolist() == [*whole.tolist(), END]
        assert len(files) == 3


@pytest.mark.parametrize(
    "name",
    [
        "page_view_join",
        pytest.param("event_window", marks=pytest.mark.full),
        pytest.param("wordcount", marks=pytest.mark.full),
    ],
)
def test_cached_reads_no_file_once_the_clock_runs(name, spark, tmp_path):
    given = spark_task(name, ordinary_input(workload(name)), tmp_path, variant="cached")
    expected = given.workload.oracle(given.dataset.load())
    prepared = SparkEngine().prepare(given)
    try:
        for path in (path for stream in given.dataset.streams for path in stream.paths):
            path.write_bytes(b"")
        measured = prepared.run()
        answer = prepared.answer()
    finally:
        prepared.close()
    assert compare(expected, answer, given.workload.output).equal
    assert measured.events == given.dataset.events
    assert len(spark.sparkContext._jsc.sc().getRDDStorageInfo()) == 0
