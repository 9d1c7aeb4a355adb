"""Every deployment equals the graph as a data trace, in any interleaving; the unsound deployment does not."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    OpKeyedUnordered,
    OpStateless,
    network,
    plan,
)
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.dataflow.plan_interpreter import outputs
from streamlab.workloads.model.dataflow.traces import Element, of_graph, sources, trace
from streamlab.workloads.model.dataflow.vertex_reference import Marker
from streamlab.workloads.model.streams.records import record_type
from tests.examples import examples
from tests.workloads.model.dataflow.graphs import disjoint, graphs, sequences
from tests.workloads.model.dataflow.parts import JFM, LI, READING, averages

SETTINGS = settings(
    max_examples=examples(400),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def in_any_order(draw: Any) -> Any:
    """Return what chooses as Hypothesis says."""
    return lambda n: draw(st.integers(0, n - 1)) if n > 1 else 0


def inputs(flow: Dataflow, **bounds: int) -> st.SearchStrategy[list[Element]]:
    return sequences(sources(flow), min_blocks=2, max_keys=len(flow.kinds), **bounds)


def check_equal(data: st.DataObject, *, partials: bool) -> None:
    """Draw a graph, streams, an input and an interleaving, and compare with the sequential run."""
    flow = data.draw(graphs() | st.just(disjoint()), label="graph")
    streams = data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=2), label="streams")
    deployed = deploy(
        flow,
        data.draw(st.integers(1, 3), label="workers"),
        streams=streams[: len(flow.kinds)],
        partials=partials,
    )
    elements = data.draw(inputs(flow), label="input")
    sequential = of_graph(flow)
    expected = trace(sequential.gives, sequential.lifted(elements))
    found = outputs(deployed, elements, in_any_order(data.draw))
    assert trace(sequential.gives, found) == expected
    for unit in deployed.units:
        event(f"{type(unit.vertex.operator).__name__} {unit.part.value}, {unit.route.value}")
    event(f"{'some' if any(expected.blocks) else 'no'} output")


@SETTINGS
@given(st.data())
def test_corollary_4_4_every_deployment_is_the_graph(data: st.DataObject):
    check_equal(data, partials=data.draw(st.booleans()))


def row(ts: int, plug: int, load: int) -> Element:
    return 0, record_type(("plug", "load"))(ts, plug, load)


def first_of(n: int) -> int:
    """Serve the channels in order: what there is of the first before anything of the next."""
    return 0


def last_of(n: int) -> int:
    return n - 1


def test_the_marker_of_a_stateless_operator_is_processed_once():
    ticks = OpStateless(
        name="ticks",
        reads=JFM.reads,
        gives=JFM.gives,
        on_item=lambda key, value, out: None,
        on_marker=lambda m, out: out.emit(0, m.ts, 0),
    )
    flow = Flow("ticks", markers=10)
    given = flow.gives(flow.add(ticks, flow.source("reading", READING)))
    found = outputs(deploy(given, 3, streams=[3]), [row(1, 7, 1), Marker(10), Marker(20)], last_of)
    assert [(key, value.ts) for key, value in items(found)] == [(0, 10), (0, 20)]


def items(found: list[Element]) -> list[Any]:
    return [element for element in found if not isinstance(element, Marker)]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "fault", ["hash", "round robin", "markers", "partials"], ids=lambda name: name.replace(" ", "-")
)
def test_a_deployment_with_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    """Plant an error in how instances are wired; the law above must not hold then."""
    plant(fault, monkeypatch)

    @settings(SETTINGS, max_examples=500, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.data())
    def law(data: st.DataObject) -> None:
        check_equal(data, partials=True)

    with pytest.raises(AssertionError):
        law()


def plant(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "hash":  # keys are anywhere
        split, deal = network._splitter, network.Route.ROUND_ROBIN
        monkeypatch.setattr(
            network,
            "_splitter",
            lambda route, to: split(deal if route is network.Route.HASH else route, to),
        )
    elif fault == "round robin":  # keyed instances that have the keys of others
        monkeypatch.setattr(plan, "preserves_keys", lambda vertex: True)
    elif fault == "markers":  # channels are not aligned
        monkeypatch.setattr(
            network._Network, "ready", lambda self: [c for c in self._channels if c.waiting]
        )
    else:  # on_item does not see the items
        monkeypatch.setattr(
            plan,
            "can_split",
            lambda vertex: isinstance(vertex.operator, OpKeyedUnordered),
        )


def deployed_means(flow: Dataflow, elements: list[Element], choose: Any, *, sound: bool) -> Any:
    deployed = deploy(flow, 2, sound=sound)
    return sorted(items(outputs(deployed, elements, choose)))


READINGS = [row(ts, 7, load) for ts, load in ((1, 10), (3, 14), (5, 30), (7, 2), (8, 8))]
BLOCKS = [*READINGS, Marker(10), row(11, 7, 4), row(15, 7, 9), Marker(20), row(21, 7, 1)]


def test_section_2_without_types_the_interpolation_is_wrong():
    # Two instances of Map deal the readings among them; the interpolation takes all of the one
    # before any of the other, so that time goes back. Sorted between markers, it does not.
    right = items(of_graph(averages()).lifted(BLOCKS))
    for choose in (first_of, last_of):
        assert deployed_means(averages(), BLOCKS, choose, sound=True) == sorted(right)
    wrong = deployed_means(averages(), BLOCKS, first_of, sound=False)
    assert [(value.ts, value.load) for _, value in right] == [(10, 14), (20, 10)]
    assert [(value.ts, value.load) for _, value in wrong] == [(10, 18), (20, 10)]


@settings(max_examples=examples(200))
@given(st.data())
def test_section_2_one_instance_in_order_is_right_without_types(data: st.DataObject):
    """What is wrong is the interleaving: with one instance of each there is none."""
    flow = averages()
    deployed = deploy(flow, 1, sound=False)
    elements = data.draw(st.permutations(READINGS).map(lambda some: sorted(some[:3])))
    block = [*elements, Marker(10), row(11, 7, 5)]
    right = items(of_graph(flow).lifted([*block, Marker(20), row(21, 7, 1)]))
    found = items(outputs(deployed, [*block, row(21, 7, 1)], first_of))
    assert found[: len(right)] == right


def test_the_unsound_form_differs_from_run_to_run():
    answers = set()
    for seed in range(20):
        chance = Random(seed)
        answers.add(str(deployed_means(averages(), BLOCKS, chance.randrange, sound=False)))
        chance = Random(seed)
        sound = deployed_means(averages(), BLOCKS, chance.randrange, sound=True)
        assert sound == sorted(items(of_graph(averages()).lifted(BLOCKS)))
    assert len(answers) > 3


def test_a_network_of_several_sources_aligns_their_markers():
    flow = Flow("two", markers=10)
    kinds = [flow.source(kind, READING) for kind in ("first", "second")]
    loads = [flow.add(replace(JFM, name=f"jfm{i}"), kind) for i, kind in enumerate(kinds)]
    given = flow.gives(flow.add(LI, flow.sort(*loads)))
    elements: list[Element] = [row(1, 7, 1), (1, row(3, 7, 5)[1]), Marker(10), row(12, 7, 14)]
    elements.append(Marker(20))
    expected = of_graph(given).lifted(elements)
    for choose in (first_of, last_of):
        assert outputs(deploy(given, 2, streams=[2, 1]), elements, choose) == expected
