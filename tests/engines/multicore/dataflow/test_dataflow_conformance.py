"""Variant `dataflow` in the conformance suite, on typed graphs of the suite in turn."""

import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.registry import engine
from streamlab.workloads.model import Dataflow
from streamlab.workloads.registry import names, workload

GRAPHS = [name for name in names() if isinstance(workload(name).program, Dataflow)]
SETTING = Setting(variant="dataflow", workers=2, batch=64)


def in_turn(cases):
    return [
        pytest.param(GRAPHS[index % len(GRAPHS)], case, id=case.name)
        for index, case in enumerate(cases)
    ]


@pytest.mark.some(3)
@pytest.mark.parametrize(("name", "case"), in_turn(CASES))
def test_dataflow_conforms(name, case, tmp_path):
    found = run_case(engine("multicore"), workload(name), case, SETTING, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(4)
@pytest.mark.parametrize(("name", "case"), in_turn(LOAD_CASES))
def test_dataflow_conforms_under(name, case, tmp_path):
    found = run_load_case(engine("multicore"), workload(name), case, SETTING, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(4)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_gives_the_oracles_answer(name, tmp_path):
    assert len(workload(name).oracle(ordinary_input(workload(name)))["ts"]) > 0
    for workers, batch in ((1, 64), (4, 1)):
        setting = Setting(variant="dataflow", workers=workers, batch=batch)
        path = tmp_path / f"{workers}"
        found = run_case(engine("multicore"), workload(name), CASES[0], setting, path)
        assert (found.unsupported, found.problems) == (None, ())
