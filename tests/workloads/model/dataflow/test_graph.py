"""The builder of graphs, and the mistakes that it refuses before anything runs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import ProgramError
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    O,
    OpKeyedOrdered,
    OpStateless,
    U,
    Vertex,
)
from tests.workloads.model.dataflow.parts import (
    AVG,
    JFM,
    LI,
    LOAD,
    LOADS,
    ORDERED_LOADS,
    READING,
    READINGS,
    averages,
)


def begun() -> tuple[Flow, int]:
    flow = Flow("loads", markers=10)
    return flow, flow.source("reading", READING)


def again(operator: Any, name: str) -> Any:
    return replace(operator, name=name)


def test_a_graph_has_its_vertices_in_order_with_their_types():
    graph = averages()
    assert [vertex.name for vertex in graph.vertices] == ["reading", "jfm", "SORT", "li", "avg"]
    assert [str(vertex.type) for vertex in graph.vertices] == [
        "U(unit, ts plug load)",
        "U(plug, ts load)",
        "O(plug, ts load)",
        "O(plug, ts load)",
        "U(plug, ts load)",
    ]
    assert graph.kinds == ("reading",)
    assert graph.event == READING
    assert graph.output.names == ("ts", "plug", "load")


def test_the_sink_is_the_last_vertex_wherever_it_was_added():
    flow, readings = begun()
    loads = flow.add(JFM, readings)
    first = flow.add(AVG, loads)
    flow.add(again(AVG, "between"), first)
    last = flow.add(again(AVG, "last"), first, 3)
    assert [v.name for v in flow.gives(last).vertices][-1] == "last"


def test_order_may_be_forgotten():
    flow, readings = begun()
    ordered = flow.sort(flow.add(JFM, readings))
    flow.gives(flow.add(AVG, ordered))


def test_a_second_sort_has_a_name_of_its_own():
    flow, readings = begun()
    loads = flow.add(JFM, readings)
    one, two = flow.add(LI, flow.sort(loads)), flow.add(again(LI, "li2"), flow.sort(loads))
    graph = flow.gives(flow.add(AVG, one, two))
    assert [v.name for v in graph.vertices if v.is_sort] == ["SORT", "SORT-2"]


def refused(build: Any) -> str:
    flow, readings = begun()
    with pytest.raises(ProgramError) as caught:
        build(flow, readings)
    return str(caught.value)


def merged(f: Flow, loads: int) -> int:
    ordered = f.sort(loads)
    one, two = f.add(LI, ordered), f.add(again(LI, "li2"), ordered)
    return f.add(again(LI, "both"), one, two)


TURNED = np.dtype([("ts", np.int64), ("load", np.int64), ("plug", np.int32)])
WIDE = np.dtype([("ts", np.int64), ("load", np.float64)])
OTHER = replace(LI, name="other", reads=O("house", LOAD), gives=O("house", LOAD))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda f, r: f.add(LI, f.add(JFM, r)),
            "dataflow loads, edge jfm -> li: li reads O(plug, ts load), jfm gives U(plug, ts load), "
            "in no order between markers. Put SORT between them: flow.add(li, flow.sort(jfm))",
        ),
        (
            lambda f, r: f.add(replace(AVG, reads=U("house", WIDE)), f.add(JFM, r)),
            "dataflow loads, edge jfm -> avg: avg reads U(house, ts load), jfm gives U(plug, ts "
            "load); keys or fields differ. Put an OpStateless between them that converts one to the "
            "other (keys: plug for house, load: int64 for float64)",
        ),
        (
            lambda f, r: f.add(OTHER, f.sort(f.add(JFM, r))),
            "Put an OpStateless between them that converts one to the other, and SORT after that",
        ),
        (
            lambda f, r: f.add(replace(JFM, reads=U(None, TURNED)), r),
            "(the order of the fields)",
        ),
        (
            lambda f, r: merged(f, f.add(JFM, r)),
            "dataflow loads: both reads O(plug, ts load) from several vertices (li, li2), and "
            "merging loses their order; put SORT before it: flow.sort(...) of all of them. If no two "
            "have a key in common, add it with disjoint_keys=True",
        ),
        (
            lambda f, r: f.add(AVG, f.add(JFM, r), disjoint_keys=True),
            "dataflow loads: avg reads U(plug, ts load), whose pairs have no order to keep; leave out "
            "disjoint_keys",
        ),
        (
            lambda f, r: f.add(LI, f.sort(f.add(JFM, r), by=("-load", "watts"))),
            "dataflow loads: SORT sorts by -load, watts; expected fields of O(plug, ts load), each at "
            "most once, with a - before those whose greatest value comes first",
        ),
        (lambda f, r: f.add(LI, f.sort(f.add(JFM, r), by=("ts", "-ts"))), "SORT sorts by ts, -ts;"),
        (
            lambda f, r: f.add(LI, f.sort(f.add(JFM, r), r)),
            "dataflow loads, edge reading -> SORT: SORT gives O(plug, ts load), reading gives "
            "U(unit, ts plug load)",
        ),
        (
            lambda f, r: f.add(JFM, r, f.add(JFM, r)),
            "dataflow loads has two vertices jfm; rename one of them",
        ),
        (
            lambda f, r: [f.add(again(JFM, "left"), r), f.add(JFM, r)][1],
            "nothing reads left; only the output of the last vertex",
        ),
        (
            lambda f, r: [f.add(JFM, r), f.add(AVG, 1)][0],
            "another vertex reads jfm, so it cannot be the answer",
        ),
        (
            lambda f, r: f.add(AVG, *[f.add(JFM, r)] * 2),
            "dataflow loads: avg reads jfm twice; list each input once, and emit twice instead",
        ),
        (lambda f, r: f.add(JFM), "jfm reads nothing"),
        (lambda f, r: f.sort(), "SORT reads nothing"),
        (lambda f, r: r, "needs at least one operator"),
        (
            lambda f, r: f.add(lambda key, value, out: None, r),
            "is not an operator; expected an OpStateless, OpKeyedOrdered or OpKeyedUnordered",
        ),
    ],
)
def test_a_graph_that_makes_no_sense_is_refused(build: Any, said: str):
    assert said in refused(lambda f, r: f.gives(build(f, r)))


@pytest.mark.parametrize("period", [0, -5, 2.5, True, None])
def test_the_period_of_markers_is_a_positive_whole_number(period: Any):
    flow = Flow("loads", markers=period)
    jfm = flow.add(JFM, flow.source("reading", READING))
    with pytest.raises(ProgramError, match=r"markers is .*; expected an integer of at least 1"):
        flow.gives(jfm)


@pytest.mark.parametrize("index", [-1, 7, None, "reading", 0.0])
def test_an_input_is_an_index_that_the_flow_returned(index: Any):
    said = refused(lambda f, r: f.add(JFM, index))
    assert said.startswith("dataflow loads: jfm reads vertex ")
    assert "pass a vertex that flow.source, flow.add or flow.sort returned" in said
    assert "gives vertex" in refused(lambda f, r: f.gives(index))


@pytest.mark.parametrize("degree", [0, -1, 1.5, True])
def test_a_degree_is_a_count(degree: Any):
    said = refused(lambda f, r: f.gives(f.add(JFM, r, degree=degree)))
    assert said.startswith(f"dataflow loads: jfm has degree {degree}; ")


@pytest.mark.parametrize("field", ["ts", "kind", "key"])
def test_a_source_has_no_field_of_a_reserved_name(field: str):
    flow = Flow("loads", markers=10)
    fields = np.dtype([(field, np.int64)])
    with pytest.raises(ProgramError, match=f"source reading has a field {field}, a reserved name"):
        flow.source("reading", fields)


def test_one_field_has_one_type_in_all_sources():
    flow = Flow("loads", markers=10)
    other = np.dtype([("plug", np.int64), ("load", np.int64)])
    one = flow.add(JFM, flow.source("reading", READING))
    reads = U(None, np.dtype([("ts", np.int64), ("plug", np.int64), ("load", np.int64)]))
    two = flow.add(replace(JFM, name="jfm2", reads=reads), flow.source("more", other))
    with pytest.raises(ProgramError) as caught:
        flow.gives(flow.add(AVG, one, two))
    assert "field plug is int32 in one source and int64 in another; rename one" in str(caught.value)


def test_a_source_is_of_no_order_and_no_key():
    jfm = Vertex(name="jfm", type=LOADS, inputs=(0,), operator=JFM)
    with pytest.raises(ProgramError, match=r"source reading has type O\(unit.*; expected U\(unit"):
        Dataflow(
            name="x",
            markers=1,
            vertices=(Vertex(name="reading", type=O(None, READINGS.value)), jfm),
        )


def test_a_vertex_reads_only_earlier_vertices():
    jfm = Vertex(name="jfm", type=LOADS, inputs=(1,), operator=JFM)
    with pytest.raises(
        ProgramError, match=r"jfm \(vertex 1\) reads vertex 1; inputs must come before"
    ):
        Dataflow(name="x", markers=1, vertices=(Vertex(name="reading", type=READINGS), jfm))


def test_a_stateless_operator_reads_an_ordered_edge_and_merges_it():
    flow, readings = begun()
    ordered = flow.add(LI, flow.sort(flow.add(JFM, readings)))
    same = OpStateless(
        name="same", reads=LOADS, gives=LOADS, on_item=lambda k, v, out: out.emit(k, v.ts, v.load)
    )
    flow.gives(flow.add(same, ordered, flow.add(AVG, ordered)))


def test_an_ordered_operator_may_follow_an_ordered_one():
    flow, readings = begun()
    second = OpKeyedOrdered(
        name="second",
        reads=ORDERED_LOADS,
        gives=ORDERED_LOADS,
        state=LOAD,
        on_item=lambda s, key, value, out: out.emit(key, value.ts, value.load),
    )
    ordered = flow.add(LI, flow.sort(flow.add(JFM, readings)))
    assert flow.gives(flow.add(second, ordered)).output.names == ("ts", "plug", "load")
