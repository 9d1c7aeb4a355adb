"""The handcrafted forms of the queries on ads, on the operators of the core."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.registry import engine
from streamlab.workloads.model import Query
from streamlab.workloads.registry import workload

NAMES = (
    "ad_enrichment",
    "campaign_views",
    "campaign_views_tumbling",
    "location_history",
    "user_activity",
    "user_clusters",
)
HANDCRAFTED = {name: workload(name).bound({"form": "handcrafted"}) for name in NAMES}


def variant_of(name: str) -> str:
    return "vsn" if isinstance(HANDCRAFTED[name].program, Query) else "ordered"


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", NAMES)
def test_handcrafted_queries_conform(name, case, tmp_path):
    setting = Setting(variant=variant_of(name), batch=7)
    found = run_case(engine("multicore"), HANDCRAFTED[name], case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(3)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", NAMES)
def test_handcrafted_queries_conform_under(name, case, tmp_path):
    setting = Setting(variant=variant_of(name))
    found = run_load_case(engine("multicore"), HANDCRAFTED[name], case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())
