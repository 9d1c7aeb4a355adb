"""Both forms of the workloads on power readings: typed graphs, and queries of operators O+."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.registry import engine
from streamlab.workloads.registry import workload

NAMES = ("sensor_interpolation", "smart_home_prediction")
TYPED = "typed", Setting(variant="dataflow", workers=2, batch=64)
BY_HAND = "handcrafted", Setting(variant="vsn", workers=2, batch=64)
ALONE = "handcrafted", Setting(variant="sn", workers=3, batch=7)  # which runs one operator
RUNS = [*((name, *how) for name in NAMES for how in (TYPED, BY_HAND)), (NAMES[0], *ALONE)]


@pytest.mark.some(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("name", "form", "setting"), RUNS)
def test_both_forms_conform(name, form, setting, case, tmp_path):
    chosen = workload(name).bound({"form": form})
    found = run_case(engine("multicore"), chosen, case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(3)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("name", "form", "setting"), RUNS)
def test_both_forms_conform_under(name, form, setting, case, tmp_path):
    chosen = workload(name).bound({"form": form})
    found = run_load_case(engine("multicore"), chosen, case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())
