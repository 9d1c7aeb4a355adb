"""Queries of operators on Spark in the conformance suite: one session; at night, each its own."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.registry import engine
from streamlab.workloads.registry import workload

# A case costs seconds; batches of operators are in test_spark_operators.py.
CHOSEN = [
    ("streaming", "wordcount", "a single stream"),
    pytest.param("streaming", "nyse_hedge", "ties in event time", marks=pytest.mark.full),
    pytest.param("batch", "paircount", "an ordinary input", marks=pytest.mark.full),
    pytest.param("batch", "scale_join", "more workers than streams", marks=pytest.mark.full),
]


def conforms(variant, name, case_name, folder, *, shared):
    case = next(case for case in CASES if case.name == case_name)
    options = {"warm_up_events": 300}
    setting = Setting(variant=variant, workers=2, options=options, shared=shared)
    found = run_case(engine("spark"), workload(name), case, setting, folder)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case_name"), CHOSEN)
def test_spark_conforms(variant, name, case_name, spark, tmp_path):
    conforms(variant, name, case_name, tmp_path, shared=True)


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case_name"), CHOSEN)
def test_spark_conforms_in_a_session_of_its_own(variant, name, case_name, tmp_path):
    conforms(variant, name, case_name, tmp_path, shared=False)
