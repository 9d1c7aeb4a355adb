"""Variant native of Spark: compiled code in tasks gives the oracle's answer."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.small_dataset import SEED
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.registry import workload
from tests.engines.clock import load_at_once
from tests.engines.spark import programs
from tests.engines.spark.runs import OWN, assert_right, of_tests, spark_task, ticks
from tests.engines.tasks import run_task
from tests.workloads.model import rides
from tests.workloads.model.rides import by_pandas, rows_of, some_rides
from tests.workloads.suite.small_inputs import event_time_workloads

FORMS = {
    "keyed_counter": "events by key, 2 tasks",
    "wordcount": "tuples by key, 2 tasks",
    "campaign_views": "partial aggregates, 2 tasks",
    "cart_abandonment": "whole, 1 task",
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
    subject = workload(name)
    task = spark_task(subject, ordinary_input(subject), tmp_path, variant="native")
    measured, outputs = assert_right(task)
    assert outputs
    assert FORMS.get(name, "") in measured.plan


@pytest.mark.spark
@pytest.mark.parametrize(
    ("options", "form"), [({}, "partial states, 1 task"), ({"form": "blocks"}, "whole, 1 task")]
)
def test_many_events_between_separators_are_dealt_as_partial_states(options, form, spark, tmp_path):
    subject = workload("event_window")
    data = generate_input(subject, subject.params({"values_per_barrier": 5_000}), 60_000, SEED)
    measured, outputs = assert_right(
        spark_task(subject, data, tmp_path, variant="native", **options)
    )
    assert outputs
    assert measured.plan == f"native, form {form}"


@pytest.mark.spark
def test_a_changed_program_in_a_file_is_compiled_again(spark, tmp_path):
    file = tmp_path / "my workload.py"
    for number, sign in enumerate(("-1", "-2")):
        text = OWN.replace("SIGN = -1", f"SIGN = {sign}").replace("-found[", f"{sign} * found[")
        file.write_text(text)
        own = workload(str(file))
        task = spark_task(own, ordinary_input(own), tmp_path / str(number), variant="native")
        _, outputs = assert_right(task)
        assert outputs


@pytest.mark.spark
def test_a_program_that_raises_is_a_crash_with_its_words(spark, tmp_path):
    task = spark_task(of_tests("BROKEN"), ticks(("v0", np.int64)), tmp_path, variant="native")
    with pytest.raises(EngineCrashError, match="ValueError: no such tick"):
        run_task(SparkEngine(), task)


@pytest.mark.spark
def test_fields_of_any_type_come_and_go_as_they_are(spark, tmp_path):
    data = ticks(*programs.FIELDS, ("unread", np.float16))
    task = spark_task(of_tests("MANY_TYPES"), data, tmp_path, variant="native")
    _, answer = run_task(SparkEngine(), task)
    for name, column in {"ts": np.arange(3), **ticks(*programs.FIELDS).streams[0].payload}.items():
        assert (answer[name].dtype, answer[name].tolist()) == (column.dtype, column.tolist())


@pytest.mark.spark
def test_windows_that_are_open_at_the_end_are_flushed(spark, tmp_path):
    found, data = workload(f"{rides.__file__}:WORKLOAD"), some_rides()
    task = spark_task(found, data, tmp_path, variant="native")
    _, answer = run_task(SparkEngine(), task)
    assert rows_of(answer) == by_pandas(data, advance=10, size=25)


def test_impossible_runs_are_refused_with_the_reason(tmp_path):
    chosen = workload("event_window")
    task = spark_task(chosen, ordinary_input(chosen), tmp_path, variant="native")
    load = load_at_once([stream.rows for stream in task.dataset.streams])
    for change, reason in [
        ({"load": load}, "takes no load; run it at full speed, or use variant streaming"),
        ({"options": {"form": "packed"}}, "one of blocks, partials"),
        ({"workload": replace(chosen, reference="", name="mine")}, "load a program by reference"),
    ]:
        assert reason in SparkEngine().unsupported(replace(task, **change))
