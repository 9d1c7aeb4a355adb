"""Queries written in Flink's SQL give the oracle's answer."""

import pytest

from streamlab.engines.conformance import ties
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.workloads import SQL, SQL_QUERIES
from streamlab.engines.protocol import default_variant
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import check_task, task_of
from tests.workloads.suite.streams import generated

QUICK = {"warm_up_rounds": 0, "heap_mb": 256}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", SQL_QUERIES)
@requires_environment(FlinkEngine)
def test_it_gives_the_answer_of_the_oracle_with_ties(name, tmp_path, monkeypatch):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    found = workload(name)
    data = ties(generated(found, dict(found.small), 4000, seed=1))
    task = task_of(found, data, tmp_path, SQL, workers=2, options=QUICK)
    _, answer = check_task(FlinkEngine(), task)
    assert len(answer["ts"])


def test_it_is_the_default_where_there_is_one():
    engine, found = FlinkEngine(), workload("nexmark_q1")
    assert default_variant(engine.variants(), type(found.program), found.name).name == SQL
    assert "(price * 908 + 500) / 1000" in engine.query_text(found, SQL)
