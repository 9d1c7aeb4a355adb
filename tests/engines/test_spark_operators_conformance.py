"""Queries of operators on Spark in the conformance suite: sessions of their own, nothing left."""

import pytest

from engines.conformance import CASES, Setting, run_case
from engines.registry import engine
from workloads.registry import workload

# A case costs a session's start and end, so each variant takes a few, on workloads in turn.
CHOSEN = [
    ("streaming", "wordcount", "a single stream"),
    ("streaming", "nyse_hedge", "ties in event time"),
    ("batch", "paircount", "an ordinary input"),
    ("batch", "scale_join", "more workers than streams"),
]


@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case_name"), CHOSEN)
def test_spark_conforms(variant, name, case_name, tmp_path):
    case = next(case for case in CASES if case.name == case_name)
    setting = Setting(variant=variant, workers=2, options={"warm_up_events": 300})
    found = run_case(engine("spark"), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())
