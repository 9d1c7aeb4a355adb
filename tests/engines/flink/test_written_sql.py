"""Queries written in Flink's SQL give the oracle's answer."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from streamlab.engines.conformance import ties
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.workloads import SQL, SQL_QUERIES
from streamlab.engines.protocol import default_variant
from streamlab.workloads.registry import workload
from tests.engines.flink.one_process import OPTIONS, WORKERS, check_answers, prepared
from tests.engines.separate_environment import bound, requires_environment
from tests.engines.tasks import check_task, task_of
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.streams import generated


@pytest.fixture
def quick_java(monkeypatch):
    """Compile quickly: the programs run once."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


def tied_events(found):
    return ties(generated(found, dict(found.small), 4000, seed=1))


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["nexmark_q6", "nexmark_q19"])
@requires_environment(FlinkEngine)
def test_a_trial_gives_the_answer_of_the_oracle(name, tmp_path, quick_java):
    subject = workload(name)
    task = task_of(subject, tied_events(subject), tmp_path, SQL, workers=WORKERS, options=OPTIONS)
    _, answer = check_task(FlinkEngine(), task)
    assert len(answer["ts"])


@pytest.mark.full
@requires_environment(FlinkEngine)
def test_generated_events_with_ties_have_the_answer_of_the_oracle(tmp_path, quick_java):
    found = map(workload, SQL_QUERIES)
    tasks = [prepared(each, SQL, tied_events(each), tmp_path / each.name) for each in found]
    assert all(check_answers(tasks))


@pytest.mark.full
@requires_environment(FlinkEngine)
def test_random_events_have_the_answer_of_the_oracle(tmp_path, quick_java):
    tasks = []
    for name in SQL_QUERIES:

        @settings(
            database=None,
            deadline=None,
            derandomize=True,
            max_examples=examples(3),
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(nexmark_inputs(), bound(workload(name)))
        def prepare(data, found):
            folder = tmp_path / str(len(tasks))
            tasks.append(prepared(found, SQL, replace(data, until_ts=None), folder))

        prepare()
    answered = check_answers(tasks)
    assert sum(answered) > len(answered) / 4


def test_it_is_the_default_where_there_is_one_and_has_the_query_parameters():
    engine, found = FlinkEngine(), workload("nexmark_q5").bound({"slide_ms": 500, "slides": 4})
    assert default_variant(engine.variants(), type(found.program), found.name).name == SQL
    text = engine.query_text(found, SQL)
    assert "INTERVAL '0.500' SECOND(2, 3), INTERVAL '2' SECOND" in text
    assert "millis(c.window_end) + 500" in text
