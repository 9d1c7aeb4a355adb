"""The instances and routes of a deployment."""

from dataclasses import replace

import numpy as np

from streamlab.workloads.model.dataflow import Dataflow, Flow
from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.plan import Deployment, deploy
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, READING, averages


def words(of: Deployment) -> list[str]:
    """Return units in words: what they do, how often, and by which routes they are reached."""
    return [
        f"{index} {unit.name} x{unit.degree}"
        + (f" <- {', '.join(map(str, unit.inputs))} {unit.route.value}" if unit.inputs else "")
        for index, unit in enumerate(of.units)
    ]


def test_figure_1_of_the_paper():
    flow = Flow("figure 1", markers=10)
    given = flow.gives(flow.add(LI, flow.sort(flow.add(JFM, flow.source("hub", READING)))))
    assert words(deploy(given, 2, streams=[2])) == [
        "0 hub x2",
        "1 jfm x2 <- 0 forward",
        "2 SORT x2 <- 1 hash",
        "3 li x2 <- 2 forward",
    ]


def test_a_source_has_as_many_instances_as_streams_but_no_more_than_workers():
    assert [deploy(averages(), 2, streams=[n]).units[0].degree for n in (0, 1, 2, 3)] == [
        1,
        1,
        2,
        2,
    ]


def loads(degree: int | None = None) -> Dataflow:
    flow = Flow("loads", markers=10)
    return flow.gives(flow.add(AVG, flow.add(JFM, flow.source("reading", READING)), degree=degree))


def test_an_unordered_operator_is_split_where_pairs_would_move():
    assert words(deploy(loads(), 3, streams=[2])) == [
        "0 reading x2",
        "1 jfm x2 <- 0 forward",
        "2 avg partial x2 <- 1 forward",
        "3 avg combining x3 <- 2 hash",
    ]
    assert words(deploy(loads(), 3, streams=[2], partials=False)) == [
        "0 reading x2",
        "1 jfm x2 <- 0 forward",
        "2 avg x3 <- 1 hash",
    ]
    assert words(deploy(loads(degree=1), 2, streams=[2]))[3] == "3 avg combining x1 <- 2 merged"


def test_instances_that_have_the_keys_already_forward_to_each_other():
    assert words(deploy(averages(), 2))[2:] == [
        "2 SORT x2 <- 1 hash",
        "3 li x2 <- 2 forward",
        "4 avg x2 <- 3 forward",
    ]


def test_one_worker_has_one_instance_of_each_vertex_and_no_exchange():
    deployed = deploy(averages(), 1, streams=[3])
    assert {(unit.degree, unit.route) for unit in deployed.units} == {(1, Route.FORWARD)}


def small(degree: int | None) -> Dataflow:
    flow = Flow("loads", markers=10)
    return flow.gives(flow.add(JFM, flow.source("reading", READING), degree=degree))


def test_a_program_may_say_a_degree():
    assert words(deploy(small(2), 8))[1] == "1 jfm x2 <- 0 round robin"
    assert words(deploy(small(9), 8))[1] == "1 jfm x8 <- 0 round robin"
    assert words(deploy(small(2), 8, streams=[2]))[1] == "1 jfm x2 <- 0 forward"


def test_one_key_is_at_one_instance_and_its_partial_aggregates_at_all():
    flow = Flow("all", markers=10)
    keyless = replace(AVG, reads=JFM.reads, gives=replace(AVG.gives, key=None))
    given = flow.gives(flow.add(keyless, flow.source("reading", READING)))
    assert words(deploy(given, 4, streams=[4])) == [
        "0 reading x4",
        "1 avg partial x4 <- 0 forward",
        "2 avg combining x1 <- 1 merged",
    ]


def test_of_several_inputs_a_stateless_operator_has_a_copy_behind_each_and_marks_once():
    flow = Flow("two", markers=10)
    kinds = [flow.source(kind, READING) for kind in ("left", "right")]
    deployed = deploy(flow.gives(flow.add(JFM, *kinds)), 2, streams=[2, 1])
    assert words(deployed) == [
        "0 left x2",
        "1 right x1",
        "2 jfm x2 <- 0 forward",
        "3 jfm (2) x1 <- 1 forward",
    ]
    assert deployed.answers == (2, 3)
    assert [unit.handles_markers for unit in deployed.units[2:]] == [True, False]


def test_a_vertex_with_several_readers_is_computed_once():
    flow = Flow("diamond", markers=10)
    given = flow.add(JFM, flow.source("reading", READING))
    left, right = flow.add(AVG, given), flow.add(replace(AVG, name="right"), given)
    deployed = deploy(flow.gives(flow.add(replace(AVG, name="both"), left, right)), 2, streams=[2])
    assert words(deployed) == [
        "0 reading x2",
        "1 jfm x2 <- 0 forward",
        "2 avg partial x2 <- 1 forward",
        "3 avg combining x2 <- 2 hash",
        "4 right partial x2 <- 1 forward",
        "5 right combining x2 <- 4 hash",
        "6 both partial x2 <- 3 forward",
        "7 both partial (2) x2 <- 5 forward",
        "8 both combining x2 <- 6, 7 hash",
    ]


def test_aggregates_with_arrays_are_not_sent():
    arrays = replace(AVG, aggregate=np.dtype([("total", np.int64, (2,)), ("count", np.int64)]))
    flow = Flow("loads", markers=10)
    given = flow.gives(flow.add(arrays, flow.add(JFM, flow.source("reading", READING))))
    assert words(deploy(given, 2))[2:] == ["2 avg x2 <- 1 hash"]


def test_without_types_nothing_is_sorted_and_stateless_vertices_get_pairs_in_turn():
    assert words(deploy(averages(), 2, sound=False)) == [
        "0 reading x1",
        "1 jfm x2 <- 0 round robin",
        "2 li x2 <- 1 hash",
        "3 avg x2 <- 2 forward",
    ]
    assert words(deploy(loads(), 2, sound=False))[2] == "2 avg x2 <- 1 hash"
