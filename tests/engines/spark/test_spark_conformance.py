"""Spark in the conformance suite: on one session; at night, in one for each variant as well."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.registry import engine
from streamlab.engines.spark.workloads import ANY_PROGRAM, COMPILED, FORMS, GENERIC, PROGRAMS
from streamlab.workloads.registry import workload

BY_NAME = {case.name: case for case in CASES}
FULL = pytest.mark.full
STEPS = {"streaming": 1, "batch": 2, "cached": 4}
"""Every how many cases a variant of DGS programs takes, on workloads in turn.

A case costs seconds. The batch form shares reading and answer with the streaming form; the cached
form shares all but where it reads with the batch form.
"""
ELSE_TRIED = ("an ordinary input", "an empty input", "one event in the last stream")
"""More workers than streams take the ordinary input as well; test_spark.py has empty ones. One
event is tried in the first stream."""
OF_DGS = [
    pytest.param(
        variant,
        PROGRAMS[index % len(PROGRAMS)],
        case.name,
        marks=FULL if (case.name in ELSE_TRIED if variant == "streaming" else index) else (),
    )
    for variant, step in STEPS.items()
    for index, case in enumerate(CASES)
    if index % step == 0
]
# Every answer, and batches, are in test_spark.py.
OF_OTHERS = [
    ("streaming", "wordcount", "a single stream"),
    ("streaming", "linear_road_new_seg", "a single stream"),
]
REFUSED = [(variant, "nyse_hedge", "a single stream") for variant in COMPILED]
"""The compiling engine reads each input of a query from streams of its own."""
OF_ANY = [
    pytest.param(variant, name, case, marks=FULL)
    for variant in ANY_PROGRAM
    for name in ("event_window", "nyse_hedge", "cart_abandonment", "sensor_interpolation")
    for case in BY_NAME
    if (variant, name, case) not in REFUSED
]
# That closing leaves neither process nor thread is among what the suite checks.
ALONE = [(variant, "event_window", "more workers than streams") for variant in FORMS]
# Spark has no batches, and its own tests vary what files hold.
LOADS = ("a load with silence at the end", "a load on a dataset that is cut")


def setting(variant, *, shared, **options):
    return Setting(variant=variant, workers=2, options=options, shared=shared)


def check(variant, name, case, folder, *, shared):
    warm_up = {"warm_up_rounds": int(variant not in GENERIC), "warm_up_events": 300}
    chosen = setting(variant, shared=shared, **warm_up)
    found = run_case(engine("spark"), workload(name), BY_NAME[case], chosen, folder)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(2)
@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case"), OF_DGS)
def test_spark_conforms(variant, name, case, spark, tmp_path):
    check(variant, name, case, tmp_path, shared=True)


@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case"), [*OF_OTHERS, *OF_ANY])
def test_spark_conforms_on_other_programs(variant, name, case, spark, tmp_path):
    check(variant, name, case, tmp_path, shared=True)


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(("variant", "name", "case"), ALONE)
def test_spark_conforms_in_a_session_of_its_own(variant, name, case, tmp_path):
    check(variant, name, case, tmp_path, shared=False)


@pytest.mark.some(1)
@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(PROGRAMS[index % len(PROGRAMS)], case, id=case.name)
        for index, case in enumerate(LOAD_CASES)
        if case.name in LOADS
    ],
)
def test_spark_conforms_under(name, case, spark, tmp_path):
    chosen = setting("streaming", shared=True, warm_up_rounds=0)
    found = run_load_case(engine("spark"), workload(name), case, chosen, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())
