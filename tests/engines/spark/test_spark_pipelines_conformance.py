"""Ordered pipelines on Spark in the conformance suite: one session; at night, each its own."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.registry import engine
from streamlab.workloads.registry import workload

# A case costs seconds; every answer, and a batch, is in test_spark_pipelines.py.
CHOSEN = [
    ("streaming", "linear_road_new_seg", "a single stream"),
    pytest.param(
        "streaming", "cart_abandonment", "more workers than streams", marks=pytest.mark.full
    ),
    pytest.param("batch", "items_viewed_together", "ties in event time", marks=pytest.mark.full),
]


def conforms(variant, name, case_name, folder, *, shared):
    case = next(case for case in CASES if case.name == case_name)
    options = {"warm_up_rounds": 0}
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
