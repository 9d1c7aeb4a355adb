"""Variant `ordered` in the conformance suite, on pipelines of the suite in turn."""

import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.registry import engine
from streamlab.workloads.model import Pipeline
from streamlab.workloads.registry import names, workload

PIPELINES = [name for name in names() if isinstance(workload(name).program, Pipeline)]
SETTING = Setting(variant="ordered", workers=2, batch=64)


def in_turn(cases):
    return [
        pytest.param(PIPELINES[index % len(PIPELINES)], case, id=case.name)
        for index, case in enumerate(cases)
    ]


@pytest.mark.some(3)
@pytest.mark.parametrize(("name", "case"), in_turn(CASES))
def test_ordered_conforms(name, case, tmp_path):
    found = run_case(engine("multicore"), workload(name), case, SETTING, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(2)
@pytest.mark.parametrize(("name", "case"), in_turn(LOAD_CASES))
def test_ordered_conforms_under(name, case, tmp_path):
    found = run_load_case(engine("multicore"), workload(name), case, SETTING, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(2)
@pytest.mark.parametrize("name", PIPELINES)
def test_every_pipeline_gives_the_oracles_answer(name, tmp_path):
    for workers, batch in ((1, 64), (4, 1)):
        setting = Setting(variant="ordered", workers=workers, batch=batch)
        path = tmp_path / f"{workers}"
        found = run_case(engine("multicore"), workload(name), CASES[0], setting, path)
        assert (found.unsupported, found.problems) == (None, ())
