"""Variant native-streaming of Spark: compiled code in micro-batches gives the oracle's answer."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.small_dataset import SEED
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.native.streaming_query import NativeStreamingQuery
from streamlab.engines.spark.query import columns_of
from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.registry import workload
from tests.engines.spark.runs import assert_right, of_tests, spark_task, ticks
from tests.engines.tasks import assert_equal, run_task
from tests.workloads.model import rides
from tests.workloads.model.rides import by_pandas, rows_of, some_rides
from tests.workloads.suite.small_inputs import event_time_workloads

NATIVE_STREAMING = "native-streaming"
FORMS = {
    "campaign_views": "partial aggregates, 2 tasks",
    "cart_abandonment": "whole, 1 task",
    "keyed_counter": "events by key, 2 tasks",
    "wordcount": "tuples by key, 2 tasks",
}
"""A workload of each model, with the form in which it runs; the others in `make test-all`."""


@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        *FORMS,
        *(
            pytest.param(n, marks=pytest.mark.full)
            for n in event_time_workloads()
            if n not in FORMS
        ),
    ],
)
def test_the_answer_is_the_oracles(name, spark, tmp_path):
    found = workload(name)
    options = {"variant": NATIVE_STREAMING, "micro_batches": 3}
    task = spark_task(found, ordinary_input(found), tmp_path, **options)
    measured, outputs = assert_right(task)
    assert outputs
    assert measured.events == task.dataset.events
    assert measured.counters == {"micro_batches": 3}
    assert FORMS.get(name, "") in measured.plan


@pytest.mark.spark
def test_windows_that_are_open_at_the_end_are_flushed(spark, tmp_path):
    found, data = workload(f"{rides.__file__}:WORKLOAD"), some_rides()
    task = spark_task(found, data, tmp_path, variant=NATIVE_STREAMING, micro_batches=2)
    _, answer = run_task(SparkEngine(), task)
    assert rows_of(answer) == by_pandas(data, advance=10, size=25)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedQuery(NativeStreamingQuery):
    """A query whose sink fails at a micro-batch, once; `loaded` has the outputs of each attempt."""

    stop_at: int
    loaded: list[Any] = field(default_factory=list)

    def load(self, frame, *, streaming):
        self.loaded.append(NativeStreamingQuery.load(self, frame, streaming=streaming))
        if len(self.loaded) == self.stop_at + 1:
            raise RuntimeError("stopped here")
        return self.loaded[-1]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("event_window", "partial states"),
        pytest.param("keyed_counter", "events by key", marks=pytest.mark.full),
        pytest.param("nyse_hedge", "whole", marks=pytest.mark.full),
        pytest.param("smart_home", "whole", marks=pytest.mark.full),
        pytest.param("cart_abandonment", "whole", marks=pytest.mark.full),
        pytest.param("campaign_views", "partial aggregates", marks=pytest.mark.full),
        ("wordcount", "tuples by key"),
    ],
)
def test_a_query_that_is_stopped_continues_from_its_checkpoint(name, form, spark, tmp_path):
    found = workload(name)
    data = ordinary_input(found)
    if name == "event_window":
        params = found.params({"values_per_barrier": 5_000})
        data = generate_input(found, params, 60_000, SEED)
    task = spark_task(found, data, tmp_path, variant=NATIVE_STREAMING)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    dtype = found.program.output
    output = tuple((column, dtype[column].name) for column in dtype.names)
    query = StoppedQuery(
        workload=found, output=output, form="", workers=2, partials=True, stop_at=2
    )
    assert query.check(task.dataset).form == form
    query.cut(task.dataset, tmp_path / "input", 4)
    where = spark, task.dataset, tmp_path / "input", tmp_path / "checkpoint"
    with pytest.raises(PySparkException, match="stopped here"):
        query.streaming(*where)
    query.streaming(*where)
    # The micro-batch that was stopped is repeated, with the same outputs.
    assert len(query.loaded) == 5
    assert query.loaded.pop(2).equals(query.loaded[2])
    answer = columns_of(pa.concat_tables(query.loaded).cast(query.schema()))
    assert_equal(found.oracle(data), answer, found.output)


@pytest.mark.spark
def test_a_program_that_raises_is_a_crash_with_its_words(spark, tmp_path):
    task = spark_task(
        of_tests("BROKEN"), ticks(("v0", np.int64)), tmp_path, variant=NATIVE_STREAMING
    )
    with pytest.raises(EngineCrashError, match="ValueError: no such tick"):
        run_task(SparkEngine(), task)


def test_queries_whose_windows_cannot_be_stored_are_refused(tmp_path):
    found = workload("campaign_views").bound({"form": "handcrafted"})
    task = spark_task(found, ordinary_input(found), tmp_path, variant=NATIVE_STREAMING)
    reason = "has a single window, whose state the core does not return"
    assert reason in SparkEngine().unsupported(task)
