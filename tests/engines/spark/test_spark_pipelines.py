"""Ordered pipelines on Spark: the oracle's sequence in both variants, or a refusal with reasons."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import OfferedLoad
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.layout import layout
from streamlab.engines.spark.pipelines.run import PipelineQuery
from streamlab.engines.spark.workloads import LACKING
from streamlab.engines.spark.workloads import PIPELINES as FORMS
from streamlab.workloads.datasets.time_cutoff import event_times, truncate
from streamlab.workloads.model import Pipeline
from streamlab.workloads.registry import names, workload
from tests.engines.spark.task import assert_right, spark_task
from tests.workloads.suite.streams import generated

PIPELINES = [name for name in names() if isinstance(workload(name).program, Pipeline)]
EVENTS, INSTANTS = 20_000, 4_000
VARIANTS = ("streaming", "batch")
HOUR_MS = 3_600_000
QUERIES = {
    "cart_abandonment": {},
    "declining_categories": {"stores": "all", "days": 40},
    "items_sold_together": {
        "categories": "all",
        "hour_ms": 600_000,
        "more_than": 2,
        "top": 7,
        "open_tickets": 3,
        "most_items": 4,
    },
    "items_viewed_together": {"top": 3, "most_items": 9, "hour_ms": 7 * HOUR_MS},
    "last_views_before_purchase": {"top": 4, "views": 3, "categories": "all"},
    "linear_road_new_seg": {},
    "linear_road_pos_rep": {},
}
"""Lists that are full, tickets and sessions that are cut off, a year that ends."""


def several_streams(name):
    """Three streams that share most of their event times."""
    chosen = workload(name)
    params = {**chosen.small, "streams": 3}
    data = generated(chosen, params, max(EVENTS, chosen.small_events), seed=4)
    times = np.concatenate([stream.ts for stream in data.streams])
    step = max(1, int(np.ptp(times)) // INSTANTS)
    coarse = [replace(stream, ts=stream.ts // step * step) for stream in data.streams]
    return replace(data, streams=tuple(coarse))


def task(name, data, folder, *, query=None, **given):
    return spark_task(workload(name).bound(query or {}), data, folder, **given)


def files_of(variant, count):
    return {"micro_batches": count} if variant == "streaming" else {}


@pytest.mark.full
@pytest.mark.pairwise(strength=1)
@pytest.mark.spark
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", FORMS)
def test_the_answer_is_the_oracles_with_several_streams_and_ties(name, variant, spark, tmp_path):
    given = task(
        name,
        several_streams(name),
        tmp_path,
        variant=variant,
        query=QUERIES[name],
        **files_of(variant, 2),
    )
    measured, outputs = assert_right(given)
    assert measured.plan == f"{variant}, form sql"
    assert outputs > 20


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "variant"), [("cart_abandonment", "streaming"), ("items_sold_together", "batch")]
)
def test_an_empty_input_gives_an_empty_answer(name, variant, spark, tmp_path):
    data = several_streams(name)
    nothing = replace(data, streams=tuple(head(stream, 0) for stream in data.streams))
    _, outputs = assert_right(task(name, nothing, tmp_path, variant=variant))
    assert not outputs


@pytest.mark.full
@pytest.mark.spark
def test_a_dataset_that_is_cut_answers_for_what_is_before_the_cut(spark, tmp_path):
    name = "last_views_before_purchase"
    given = task(name, several_streams(name), tmp_path, variant="batch")
    times = event_times(given.dataset)
    short = truncate(given.dataset, times, int(np.median(np.concatenate(times))))
    assert 0 < short.events < given.dataset.events
    _, outputs = assert_right(replace(given, dataset=short))
    assert outputs


def head(stream, rows):
    return replace(
        stream,
        ts=stream.ts[:rows],
        tag=None if stream.tag is None else stream.tag[:rows],
        payload={name: values[:rows] for name, values in stream.payload.items()},
    )


def test_every_pipeline_has_a_relation_or_a_reason():
    assert sorted([*FORMS, *LACKING]) == sorted(PIPELINES)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_workload_without_a_relation_is_refused_with_the_reason(variant, tmp_path):
    given = task("parametric", ordinary_input(workload("parametric")), tmp_path, variant=variant)
    with pytest.raises(UnsupportedError, match="no query for parametric: its operators cost"):
        SparkEngine().prepare(given)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_load_is_refused_with_the_reason(variant, tmp_path):
    data = ordinary_input(workload("linear_road_pos_rep"))
    given = task("linear_road_pos_rep", data, tmp_path, variant=variant)
    nothing = tuple(np.empty(0, dtype=np.int64) for _ in data.streams)
    load = OfferedLoad(
        due_ns=tuple(np.zeros(len(stream), dtype=np.int64) for stream in data.streams),
        heartbeat_ts=nothing,
        heartbeat_due_ns=nothing,
        warm_up_ns=0,
        end_ns=0,
    )
    reason = {
        "streaming": "operators of a pipeline do not send",
        "batch": "reads its whole input at once",
    }
    assert reason[variant] in SparkEngine().unsupported(replace(given, load=load))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", FORMS)
def test_every_pipeline_declares_the_three_properties_with_reasons(name, variant):
    declared = SparkEngine().properties(name, variant)
    assert set(declared) == {"PIP1", "PIP2", "PIP3"}
    assert all(len(found.why) > 20 for found in declared.values())
    spread = variant == "streaming" and name != "linear_road_pos_rep"
    assert declared["PIP2"].holds is not spread


def test_files_of_a_micro_batch_end_at_one_event_time_and_rows_keep_their_place(tmp_path):
    name = "linear_road_pos_rep"
    given = task(name, several_streams(name), tmp_path, variant="streaming")
    query = PipelineQuery(workload=given.workload, output=(), form="sql", workers=2)
    cut = query.cut(layout(given.dataset), tmp_path / "files", 3)
    latest = -1
    for place in range(3):
        parts = sorted((tmp_path / "files").glob(f"*/part-0000{place}.parquet"))
        times = np.concatenate([pq.read_table(part)["ts"].to_numpy() for part in parts])
        assert times.min() > latest
        latest = times.max()
    for src, columns in enumerate(cut):
        files = sorted((tmp_path / "files" / f"stream-{src}").iterdir())
        rows = np.concatenate([pq.read_table(file)["row"].to_numpy() for file in files])
        assert rows.tolist() == list(range(given.dataset.streams[src].rows))
        assert columns[-1] == ("row", "int64")
