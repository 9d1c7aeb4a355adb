"""The conformance suite: queries in all variants, pipelines, typed graphs, and workloads that have two forms."""

import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.registry import engine
from streamlab.workloads.model import Dataflow, Pipeline, Query
from streamlab.workloads.registry import names, workload
from tests.engines.multicore.operator_queries import QUERIES, SEVERAL

OF_MODEL = {
    variant: [name for name in names() if isinstance(workload(name).program, model)]
    for variant, model in (("ordered", Pipeline), ("dataflow", Dataflow))
}
"""Workloads of the suite, by the variant that runs them."""
ADS = (
    "ad_enrichment",
    "campaign_views",
    "campaign_views_tumbling",
    "location_history",
    "user_activity",
    "user_clusters",
)
POWER = ("sensor_interpolation", "smart_home_prediction")


def by_hand(name):
    """Return the handcrafted form of a workload, and the variant that runs it."""
    subject = workload(name).bound({"form": "handcrafted"})
    return subject, "vsn" if isinstance(subject.program, Query) else "ordered"


TWO = {"workers": 2, "batch": 64}
FORMS = [
    *((*by_hand(name), {"batch": 7}) for name in ADS),
    *((workload(name).bound({"form": "typed"}), "dataflow", TWO) for name in POWER),
    *((*by_hand(name), TWO) for name in POWER),
    (by_hand(POWER[0])[0], "sn", {"workers": 3, "batch": 7}),  # which runs one operator
]
"""Workloads, variants and settings."""
of_form = pytest.mark.parametrize(
    ("chosen", "variant", "how"), FORMS, ids=[f"{form[0].name}-{form[1]}" for form in FORMS]
)


BY_KEY = {"join_form": "operator10"}
SETTINGS = {
    "vsn": Setting(variant="vsn", workers=2, batch=64),
    "scalegate": Setting(variant="vsn", workers=3, batch=1, options={"tuple_buffer": "scalegate"}),
    "operator 10": Setting(variant="vsn", workers=4, batch=4096, options=BY_KEY),
    "sn": Setting(variant="sn", workers=3, batch=7),
    "sn, operator 10": Setting(variant="sn", workers=2, batch=64, options=BY_KEY),
    "maps": Setting(variant="sn-map", workers=2, batch=64, options={"map_instances": 3}),
    "a map": Setting(variant="sn-map", workers=4, batch=4096, options={"map_instances": 1}),
    "channels": Setting(variant="layers", batch=7, options={"determinism": "communication"}),
    "mergers": Setting(variant="layers", batch=7, options={"determinism": "operator"}),
}
LOADED = [
    *((name, "vsn") for name in QUERIES),
    ("forward", "sn"),
    ("wordcount", "sn"),
    ("scale_join", "operator 10"),
    ("nyse_hedge", "sn, operator 10"),
    ("wordcount", "maps"),
    ("longest_tweet_per_hashtag", "a map"),
    ("wordcount", "channels"),
    ("scale_join", "channels"),
    ("forward", "mergers"),
]


@pytest.mark.pairwise
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", QUERIES)
def test_queries_conform(name, case, setting, tmp_path):
    found = run_case(engine("multicore"), workload(name), case, SETTINGS[setting], tmp_path)
    assert found.problems == ()
    if found.unsupported is not None:
        # Joins read one stream for each input, and need a shared log except by operator 10.
        several = case.name == "a single stream" and SEVERAL in found.unsupported
        first, *later = workload(name).program.operators
        chained = bool(later) and SETTINGS[setting].variant != "vsn"
        stored = first.stores and first.join is None and setting in {"channels", "mergers"}
        joined = first.join is not None and setting in {"sn", "maps", "a map"}
        assert several or chained or stored or joined, found.unsupported


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("name", "setting"), LOADED)
def test_queries_conform_under(name, setting, case, tmp_path):
    found = run_load_case(engine("multicore"), workload(name), case, SETTINGS[setting], tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


def in_turn(cases):
    return [
        pytest.param(variant, found[index % len(found)], case, id=f"{variant}-{case.name}")
        for variant, found in OF_MODEL.items()
        for index, case in enumerate(cases)
    ]


def check(run, chosen, case, folder, variant, **how):
    found = run(engine("multicore"), chosen, case, Setting(variant=variant, **how), folder)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(6)
@pytest.mark.parametrize(("variant", "name", "case"), in_turn(CASES))
def test_a_model_conforms(variant, name, case, tmp_path):
    check(run_case, workload(name), case, tmp_path, variant, **TWO)


@pytest.mark.some(6)
@pytest.mark.parametrize(("variant", "name", "case"), in_turn(LOAD_CASES))
def test_a_model_conforms_under(variant, name, case, tmp_path):
    check(run_load_case, workload(name), case, tmp_path, variant, **TWO)


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("variant", "name"), [(variant, name) for variant in OF_MODEL for name in OF_MODEL[variant]]
)
def test_every_workload_of_a_model_gives_the_oracles_answer(variant, name, tmp_path):
    chosen = workload(name)
    assert len(chosen.oracle(ordinary_input(chosen))["ts"]) > 0
    for workers, batch in ((1, 64), (4, 1)):
        folder = tmp_path / f"{workers}"
        check(run_case, chosen, CASES[0], folder, variant, workers=workers, batch=batch)


@pytest.mark.some(21)
@of_form
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_forms_conform(chosen, variant, how, case, tmp_path):
    check(run_case, chosen, case, tmp_path, variant, **how)


@pytest.mark.some(6)
@of_form
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
def test_both_forms_conform_under(chosen, variant, how, case, tmp_path):
    check(run_load_case, chosen, case, tmp_path, variant, **how)
