"""Variant `dataflow` gives the interpreter's answer, however a graph is run."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.workloads.model.dataflow.drawing import in_words
from streamlab.workloads.model.dataflow.plan import deploy
from tests.engines.multicore.dataflow.graphs import (
    NAMED,
    check_answer,
    graphs,
    load_of,
    many_events,
    run_flow,
    small_inputs,
)
from tests.examples import examples

HOW = st.fixed_dictionaries(
    {
        "workers": st.sampled_from([1, 2, 3, 5]),
        "batch": st.sampled_from([64, 1, 2, 4096]),
        "combine": st.sampled_from(["always", "never"]),
        "link_rows": st.sampled_from([1 << 14, 1]),
    }
)


def run_as_drawn(data, flow, given_input):
    how = data.draw(HOW)
    load = load_of(given_input, 1000) if data.draw(st.booleans()) else None
    got, _ = run_flow(flow, given_input, load=load, **how)
    check_answer(flow, given_input, got)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", NAMED)
def test_random_inputs_are_answered_as_by_the_interpreter(name):
    @settings(max_examples=examples(60), deadline=None)
    @given(data=st.data())
    def check(data):
        run_as_drawn(data, NAMED[name], data.draw(small_inputs(NAMED[name])))

    check()


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_graphs_are_answered_as_by_the_interpreter(data):
    flow = data.draw(graphs())
    run_as_drawn(data, flow, data.draw(small_inputs(flow)))


@pytest.mark.some(3)
@pytest.mark.parametrize("name", NAMED)
def test_long_inputs_are_answered_as_by_the_interpreter(name):
    flow = NAMED[name]
    data = many_events(flow, 4000)
    for workers, batch, combine in ((1, 64, "always"), (2, 1, "never"), (3, 4096, "always")):
        got, measured = run_flow(flow, data, workers=workers, batch=batch, combine=combine)
        check_answer(flow, data, got)
        assert measured.counters["markers"] > 100


@pytest.mark.some(6)
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("soundness", ["typed", "none"])
def test_what_runs_is_the_deployment_that_the_model_makes(name, soundness):
    flow = NAMED[name]
    data = many_events(flow, 60, streams=2)
    deployed = deploy(flow, 3, streams=[2] * len(flow.kinds), sound=soundness == "typed")
    _, measured = run_flow(flow, data, workers=3, soundness=soundness)
    assert measured.plan == f"{in_words(deployed)}; 3 workers"
