"""The handcrafted forms of the workloads on power readings, which are queries of operators O+."""

import pytest

from engines.conformance import CASES, Setting, run_case
from engines.conformance_load import LOAD_CASES, run_load_case
from engines.registry import engine
from workloads.registry import workload

NAMES = ("sensor_interpolation", "smart_home_prediction")
VSN = Setting(variant="vsn", workers=2, batch=64)
SN = Setting(variant="sn", workers=3, batch=7)


@pytest.mark.pairwise
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(
    ("name", "setting"),
    [(NAMES[0], VSN), (NAMES[0], SN), (NAMES[1], VSN)],  # sn runs one operator
    ids=lambda given: getattr(given, "variant", given),
)
def test_handcrafted_forms_conform(name, case, setting, tmp_path):
    chosen = workload(name).bound({"form": "handcrafted"})
    found = run_case(engine("multicore"), chosen, case, setting, tmp_path)
    assert found.problems == ()


@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", NAMES)
def test_handcrafted_forms_conform_under_load(name, case, tmp_path):
    chosen = workload(name).bound({"form": "handcrafted"})
    found = run_load_case(engine("multicore"), chosen, case, VSN, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())
