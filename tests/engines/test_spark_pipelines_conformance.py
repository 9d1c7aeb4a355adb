"""Ordered pipelines on Spark in the conformance suite: sessions of their own, nothing left."""

import pytest

from engines.conformance import CASES, Setting, run_case
from engines.registry import engine
from workloads.registry import workload

# A case costs a session's start and end; every answer is in test_spark_pipelines.py.
CHOSEN = [
    ("streaming", "linear_road_new_seg", "a single stream"),
    ("streaming", "cart_abandonment", "more workers than streams"),
    ("batch", "items_viewed_together", "ties in event time"),
]


@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case_name"), CHOSEN)
def test_spark_conforms(variant, name, case_name, tmp_path):
    case = next(case for case in CASES if case.name == case_name)
    setting = Setting(variant=variant, workers=2, options={"warm_up_rounds": 0})
    found = run_case(engine("spark"), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())
