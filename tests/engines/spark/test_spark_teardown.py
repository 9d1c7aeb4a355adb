"""Spark in a session of its own: it conforms, and neither process nor thread is left behind."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.workloads import FORMS
from streamlab.workloads.registry import workload


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("variant", FORMS)
def test_closing_leaves_neither_process_nor_thread(variant, tmp_path):
    setting = Setting(variant=variant, options={"warm_up_rounds": 0})
    case = next(case for case in CASES if case.name == "more workers than streams")
    finding = run_case(SparkEngine(), workload("event_window"), case, setting, tmp_path)
    assert finding.unsupported is None
    assert not finding.problems, finding.problems
