"""SQL that is generated from declared workloads for Flink: its answers, its text, and what has none."""

from dataclasses import replace

import pytest

import streamlab as lab
from streamlab.engines.declared_queries import GENERATED
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.generated import generate, interval
from streamlab.engines.flink.translatable import refuse
from streamlab.engines.protocol import default_variant
from streamlab.workloads.declarative.declaration import ASOF, JoinStep
from streamlab.workloads.registry import workload
from tests.engines import declared_workloads
from tests.engines.declared_workloads import DECLARED, random_input, rows
from tests.engines.flink.one_process import check_answers, prepared
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import task_of

SEED = 0
"""Of an input on which every form has an output."""


def beginning_at(ts, data):
    """Return an input whose first event has a time."""
    later = ts - min(stream.ts[0] for stream in data.streams if len(stream))
    return replace(data, streams=tuple(replace(s, ts=s.ts + later) for s in data.streams))


def input_of(made):
    """Return a random input whose times an interval join takes."""
    data = random_input(made, SEED)
    join = made.declaration.steps()[0].step
    return beginning_at(1, data) if isinstance(join, JoinStep) and join.how != ASOF else data


@requires_environment(FlinkEngine)
def test_every_form_answers_as_the_reference_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    names = [name for name, one in DECLARED.items() if refuse(one) is None]
    made = [workload(f"{declared_workloads.__file__}:{name}") for name in names]
    counts = {"n": lab.count()}
    uneven = lab.window("7 ms", every="3 ms", input=rows, key="zone", result=counts, name="uneven")
    most = {"most": lab.max("n"), "last": lab.max("ts")}
    made += [uneven, lab.window("6 ms", every="3 ms", input=uneven, result=most, name="of_uneven")]
    tasks = [prepared(one, GENERATED, input_of(one), tmp_path / one.name) for one in made]
    assert all(check_answers(tasks))


@pytest.mark.parametrize("name", ["window_of_first_rows", "alert_of_windows", "long_visits"])
def test_a_chain_of_steps_on_rows_and_on_windows_is_refused(name):
    assert "which has steps on rows and on windows of time" in refuse(DECLARED[name])


@pytest.mark.parametrize("name", ["pairs", "dearest", "chosen"])
def test_steps_after_a_join_without_a_time_in_flink_are_refused(name):
    assert "which reads the join" in refuse(DECLARED[name])


@requires_environment(FlinkEngine)
def test_times_that_an_interval_join_would_drop_are_refused(tmp_path):
    made = DECLARED["inner_join"]
    for ts, reason in ((0, "the input begins at 0"), (1, None)):
        data = beginning_at(ts, random_input(made, SEED))
        refused = FlinkEngine().unsupported(task_of(made, data, tmp_path / str(ts), GENERATED))
        assert refused is reason or reason in refused


def test_an_order_of_values_that_may_be_nan_is_refused():
    most = {"most": lab.max("price / amount")}
    assert "most may be NaN" in refuse(lab.window("4 ms", input=rows, result=most, name="w"))


def test_a_declared_workload_runs_generated_by_default():
    made, engine = DECLARED["top"], FlinkEngine()
    chosen = default_variant(engine.variants(), type(made.program), made.name)
    assert chosen.name == GENERATED
    assert chosen.lacks(made) is None
    assert engine.properties(made.name, GENERATED)["PIP3"].holds
    written = workload("wordcount")
    chosen = default_variant(engine.variants(), type(written.program), written.name)
    assert chosen.name == "automatic"


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (600_000, "INTERVAL '10' MINUTE"),
        (86_400_000 * 365, "INTERVAL '365' DAY(3)"),
        (5, "INTERVAL '0.005' SECOND(2, 3)"),
        (-1, "INTERVAL '-0.001' SECOND(2, 3)"),
        (123_456, "INTERVAL '123.456' SECOND(3, 3)"),
    ],
)
def test_a_length_of_time_is_an_interval_in_its_largest_unit(units, text):
    assert interval(units) == text


def test_the_text_says_that_its_times_are_in_another_unit():
    declaration = replace(DECLARED["top"].declaration, unit="us")
    assert generate(declaration).startswith(
        "-- A millisecond of this query is a unit of event time"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "left_join",
            "LEFT JOIN right_events AS r\n    ON l.`zone` = r.`zone` AND r.time_ BETWEEN",
        ),
        ("asof_join", "LEFT JOIN right_versions FOR SYSTEM_TIME AS OF l.time_ AS r"),
        ("tumbling", "FROM TABLE(TUMBLE(TABLE row_events, DESCRIPTOR(time_), INTERVAL '0.005'"),
        ("session", "FROM TABLE(SESSION(TABLE row_events PARTITION BY `zone`, DESCRIPTOR(time_)"),
        ("top", "OVER (PARTITION BY `zone`, window_start, window_end ORDER BY `price` DESC, ts)"),
        ("deduplicate_within", "PATTERN (leaving duplicate* later)"),
        (
            "top_of_windows",
            "TABLE step_1, DESCRIPTOR(time_), INTERVAL '0.005' SECOND(2, 3), INTERVAL '-0.001'",
        ),
    ],
)
def test_the_text_uses_functions_of_flink(name, text):
    assert text in FlinkEngine().query_text(DECLARED[name], GENERATED)


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("sliding", "sliding copies each row into its 5 windows"),
        ("deduplicate_within", "deduplicate_within finds the output rows with MATCH_RECOGNIZE"),
        ("count_window", "count_window stores the state of ended windows"),
        ("distinct_counts", "distinct_counts sorts its input, which comes from several tasks"),
    ],
)
def test_the_plan_names_parts_that_are_slow_because_generated(name, cost):
    engine = FlinkEngine()
    assert cost in engine.generated_plan(DECLARED[name].declaration)
    assert "faster" not in engine.generated_plan(DECLARED["top"].declaration)
