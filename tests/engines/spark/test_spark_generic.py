"""Generic variants of Spark: any workload's own functions give the oracle's answer."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.protocol import default_variant
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.workloads import GENERIC, WORKLOADS
from streamlab.workloads.model import Dataflow, DGSProgram
from streamlab.workloads.model.dataflow import Flow, OpStateless, of_events
from streamlab.workloads.registry import workload
from tests.engines import declared_workloads
from tests.engines.clock import load_at_once
from tests.engines.inputs import input_of
from tests.engines.spark import programs
from tests.engines.spark.runs import (
    OWN,
    assert_right,
    micro_batch_options,
    of_tests,
    spark_task,
    ticks,
)
from tests.engines.tasks import run_task
from tests.workloads.model import rides
from tests.workloads.model.rides import by_pandas, rows_of, some_rides
from tests.workloads.suite.small_inputs import event_time_workloads

SHOWN = {
    ("generic-streaming", "wordcount"),
    ("generic-batch", "linear_road_pos_rep"),
    ("generic-batch", "scale_join"),
    ("generic-streaming", "sensor_interpolation"),
    ("generic-batch", "campaign_views"),
}
"""In seconds, with a DGS program in a file of its own below; the others in `make test-all`.

What becomes of every workload's operators in micro-batches and groups is in
test_spark_generic_steps.py, without Spark.
"""
ALL = [
    pytest.param(variant, name, marks=() if (variant, name) in SHOWN else pytest.mark.full)
    for variant in GENERIC
    for name in event_time_workloads()
]


@pytest.mark.some(2)
@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name"), ALL)
def test_the_answer_is_the_oracles_without_a_query_of_its_own(variant, name, spark, tmp_path):
    subject = workload(name)
    how = {"variant": variant, **micro_batch_options(variant, 2)}
    given = spark_task(subject, ordinary_input(subject), tmp_path, **how)
    measured, outputs = assert_right(given)
    assert outputs
    assert measured.plan.startswith(f"{variant}, form generic, ")


@pytest.fixture
def own(tmp_path):
    """A workload in a file that nobody can import."""
    file = tmp_path / "my workload.py"
    file.write_text(OWN)
    return workload(str(file))


@pytest.mark.spark
@pytest.mark.parametrize("variant", GENERIC)
def test_a_workload_in_a_file_reaches_the_python_workers(variant, own, spark, tmp_path):
    given = spark_task(own, ordinary_input(own), tmp_path, variant=variant)
    measured, outputs = assert_right(given)
    assert outputs
    assert measured.plan == f"{variant}, form generic, 2 groups"


def test_a_workload_that_nothing_is_written_for_is_run_as_any_program(own, tmp_path):
    variants = SparkEngine().variants()
    assert default_variant(variants, DGSProgram, own.name).name == "generic-streaming"
    assert default_variant(variants, DGSProgram, "event_window").name == "streaming"
    assert default_variant(variants, Dataflow, "campaign_views").name == "generic-streaming"
    given = spark_task(own, ordinary_input(own), tmp_path)
    assert (
        "variants generic-streaming, generic-batch, native, native-streaming run"
        in SparkEngine().unsupported(given)
    )
    generic = replace(given, variant="generic-streaming")
    assert SparkEngine().unsupported(generic) is None
    conditions = [v.conditions for v in variants if v.name in GENERIC]
    assert all("Python" in found.also_timed for found in conditions)


@pytest.mark.spark
def test_a_program_that_raises_is_a_crash_with_its_words(spark, tmp_path):
    given = spark_task(
        of_tests("BROKEN"), ticks(("v0", np.int64)), tmp_path, variant="generic-batch"
    )
    with pytest.raises(EngineCrashError, match="ValueError: no such tick"):
        run_task(SparkEngine(), given)


@pytest.mark.spark
@pytest.mark.parametrize(
    "variant", [pytest.param("generic-streaming", marks=pytest.mark.full), "generic-batch"]
)
def test_fields_of_any_type_come_and_go_as_they_are(variant, spark, tmp_path):
    data = ticks(*programs.FIELDS, ("unread", np.float16))
    given = spark_task(of_tests("MANY_TYPES"), data, tmp_path, variant=variant)
    _, answer = run_task(SparkEngine(), given)
    for name, column in {"ts": np.arange(3), **ticks(*programs.FIELDS).streams[0].payload}.items():
        assert (answer[name].dtype, answer[name].tolist()) == (column.dtype, column.tolist())


@pytest.mark.spark
@pytest.mark.parametrize(
    "variant", [pytest.param("generic-streaming", marks=pytest.mark.full), "generic-batch"]
)
def test_windows_that_are_open_at_the_end_are_flushed(variant, spark, tmp_path):
    found, data = workload(f"{rides.__file__}:WORKLOAD"), some_rides()
    given = spark_task(found, data, tmp_path, variant=variant)
    _, answer = run_task(SparkEngine(), given)
    assert rows_of(answer) == by_pandas(data, advance=10, size=25)


def test_a_field_that_spark_has_no_type_for_is_refused(tmp_path):
    given = spark_task(
        of_tests("HALVES"), ticks(("v0", np.float16)), tmp_path, variant="generic-batch"
    )
    said = SparkEngine().unsupported(given)
    assert "no type for field v0 of stream stream-0, which is float16" in said


def test_a_program_that_workers_would_not_find_is_refused(own, tmp_path):
    given = spark_task(own, ordinary_input(own), tmp_path, variant="generic-batch")
    nameless = replace(given, workload=replace(own, reference=""))
    assert "load a program by reference: no workload 'negated'" in SparkEngine().unsupported(
        nameless
    )
    other = replace(given, workload=replace(own, program=of_tests("BROKEN").program))
    assert "would load another program as" in SparkEngine().unsupported(other)


@pytest.mark.parametrize("variant", GENERIC)
def test_impossible_runs_are_refused_with_the_reason(variant, tmp_path):
    chosen = workload("event_window")
    given = spark_task(chosen, ordinary_input(chosen), tmp_path, variant=variant)
    load = load_at_once([stream.rows for stream in given.dataset.streams])
    for change, reason in [
        ({"load": load}, "takes no load; run it at full speed, or use variant streaming"),
        ({"options": {"form": "blocks"}}, "does not take option form"),
        ({"options": {"speed": 1}}, "no option 'speed'"),
    ]:
        asked = replace(given, **change)
        assert reason in SparkEngine().unsupported(asked)
        with pytest.raises(UnsupportedError, match=reason):
            SparkEngine().prepare(asked)


@pytest.mark.parametrize("variant", GENERIC)
@pytest.mark.parametrize("name", [*WORKLOADS, "somebody's"])
def test_generic_variants_declare_that_groups_are_dealt_by_hand(name, variant):
    declared = SparkEngine().properties(name, variant)
    assert [declared[name].holds for name in ("PIP1", "PIP2", "PIP3")] == [True, False, True]


def test_results_that_several_processes_would_keep_in_one_database_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    chosen = workload("user_activity").bound({"persist": "sqlite"})
    data = ordinary_input(workload("user_activity"))
    given = spark_task(chosen, data, tmp_path, variant="generic-batch")
    assert "set query parameter persist=none" in SparkEngine().unsupported(given)


@pytest.mark.full
@pytest.mark.spark
def test_workers_look_up_in_a_database_as_others_do(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    chosen = workload("ad_enrichment").bound({"lookup": "sqlite"})
    _, outputs = assert_right(
        spark_task(chosen, ordinary_input(chosen), tmp_path, variant="generic-batch")
    )
    assert outputs


def flow_of(period, field=np.int64):
    """Return a workload of a dataflow graph with markers that far apart, and an input for it."""
    fields = np.dtype([("v", field)])
    flow = Flow("passing", markers=period)
    of = of_events(fields)
    passing = OpStateless(name="pass", reads=of, gives=of, on_item=pass_on)
    chosen = replace(
        of_tests("BROKEN"), program=flow.gives(flow.add(passing, flow.source("tick", fields)))
    )
    return chosen, input_of(("tick",), (0, [-5, 1 << 30], {"v": np.zeros(2, np.int64)}))


def pass_on(key, value, out):
    out.emit(value.ts, value.v)


@pytest.mark.parametrize(
    ("period", "field", "reason"),
    [
        (64, np.int64, "at most 16,777,216 markers, and the input has 16,777,217, one every 64"),
        (65, np.longdouble, "no type for field v of vertex tick's output, which is float128"),
        (65, np.int64, "workers would load another program as"),
    ],
    ids=["markers", "a field", "nothing of the graph itself"],
)
def test_a_graph_that_cannot_be_carried_is_refused(period, field, reason, tmp_path):
    chosen, data = flow_of(period, field)
    given = spark_task(chosen, data, tmp_path, variant="generic-streaming")
    assert reason in SparkEngine().unsupported(given)


@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        "session",
        "top_of_windows",
        "keys_within",
        "window_of_first_rows",
        "late",
        *declared_workloads.FUNCTIONS,
    ],
)
def test_declared_workloads_run_as_any_program(name, spark, tmp_path):
    declared = workload(f"{declared_workloads.__file__}:{name}")
    data = declared_workloads.random_input(declared, 0)
    _, outputs = assert_right(spark_task(declared, data, tmp_path, variant="generic-batch"))
    assert outputs
