"""Which instances and routes a deployment has."""

from dataclasses import replace

import pytest

from tests.workloads.model.dataflow.parts import AVG, JFM, LI, READING, averages
from workloads.model import ProgramError
from workloads.model.dataflow import Dataflow, Flow
from workloads.model.dataflow.deployment import Deployment, deploy


def words(of: Deployment) -> list[str]:
    """Return units in words: what they do, how often, and by which routes they are reached."""
    lines = []
    for index, unit in enumerate(of.units):
        parts = ";".join(
            of.vertex((vertex, part)).name + ("" if part.value == "whole" else f" {part.value}")
            for vertex, part in unit.parts
        )
        into = ", ".join(f"{link.before} {link.route.value}" for link in of.into(index))
        lines.append(f"{index} {parts} x{unit.degree}" + (f" <- {into}" if into else ""))
    return lines


def test_figure_1_of_the_paper():
    flow = Flow("figure 1", markers=10)
    given = flow.gives(flow.add(LI, flow.sort(flow.add(JFM, flow.source("hub", READING)))))
    assert words(deploy(given, 2)) == [
        "0 hub x1",
        "1 jfm x2 <- 0 round robin",
        "2 SORT;li x2 <- 1 hash",
    ]


def test_an_unordered_operator_is_split_where_pairs_would_move():
    flow = Flow("loads", markers=10)
    given = flow.gives(flow.add(AVG, flow.add(JFM, flow.source("reading", READING))))
    assert words(deploy(given, 3)) == [
        "0 reading x1",
        "1 jfm;avg partial x3 <- 0 round robin",
        "2 avg combining x3 <- 1 hash",
    ]
    assert words(deploy(given, 3, partials=False)) == [
        "0 reading x1",
        "1 jfm x3 <- 0 round robin",
        "2 avg x3 <- 1 hash",
    ]
    assert deploy(given, 3).degree(2) == 3


def test_instances_that_have_the_keys_already_forward_to_each_other():
    assert words(deploy(averages(), 2)) == [
        "0 reading x1",
        "1 jfm x2 <- 0 round robin",
        "2 SORT;li;avg x2 <- 1 hash",
    ]


def test_one_worker_has_one_of_each_and_nothing_moves():
    assert words(deploy(averages(), 1)) == ["0 reading x1", "1 jfm;SORT;li;avg x1 <- 0 forward"]


def test_without_fusion_each_vertex_is_a_unit():
    assert words(deploy(averages(), 2, fusion=False)) == [
        "0 reading x1",
        "1 jfm x2 <- 0 round robin",
        "2 SORT x2 <- 1 hash",
        "3 li x2 <- 2 forward",
        "4 avg x2 <- 3 forward",
    ]


def test_degrees_of_vertices_count():
    given = deploy(averages(), 4, degrees={"jfm": 3, "li": 2, "avg": 1, "reading": 2})
    assert words(given) == [
        "0 reading x2",
        "1 jfm x3 <- 0 round robin",
        "2 SORT;li;avg partial x2 <- 1 hash",
        "3 avg combining x1 <- 2 merged",
    ]


def small(degree: int | None) -> Dataflow:
    flow = Flow("loads", markers=10)
    return flow.gives(flow.add(JFM, flow.source("reading", READING), degree=degree))


def test_a_program_may_bound_a_degree():
    assert deploy(small(2), 8).degree(1) == 2
    assert deploy(small(9), 8).degree(1) == 8
    assert deploy(small(2), 8, degrees={"jfm": 5}).degree(1) == 5


def of_one_key() -> Dataflow:
    flow = Flow("all", markers=10)
    jfm = replace(JFM, gives=replace(JFM.gives, key=None))
    loads = flow.add(jfm, flow.source("reading", READING))
    one_key = replace(AVG, reads=replace(AVG.reads, key=None), gives=replace(AVG.gives, key=None))
    return flow.gives(flow.add(one_key, loads))


def test_one_key_is_at_one_instance_and_its_partial_aggregates_at_all():
    assert words(deploy(of_one_key(), 4)) == [
        "0 reading x1",
        "1 jfm;avg partial x4 <- 0 round robin",
        "2 avg combining x1 <- 1 merged",
    ]
    with pytest.raises(
        ProgramError, match=r"avg has degree 2, and all that it reads, .* has one key"
    ):
        deploy(of_one_key(), 4, degrees={"avg": 2})


def test_an_operator_behind_a_source_has_its_partial_aggregates_at_all_instances():
    flow = Flow("direct", markers=10)
    keyless = replace(
        AVG,
        reads=JFM.reads,
        gives=replace(AVG.gives, key=None),
    )
    given = flow.gives(flow.add(keyless, flow.source("reading", READING)))
    assert words(deploy(given, 2)) == [
        "0 reading x1",
        "1 avg partial x2 <- 0 round robin",
        "2 avg combining x1 <- 1 merged",
    ]


def test_what_several_read_is_not_fused_with_one_of_them():
    flow = Flow("diamond", markers=10)
    loads = flow.add(JFM, flow.source("reading", READING))
    left, right = flow.add(AVG, loads), flow.add(replace(AVG, name="right"), loads)
    given = flow.gives(flow.add(replace(AVG, name="both"), left, right))
    assert words(deploy(given, 2)) == [
        "0 reading x1",
        "1 jfm x2 <- 0 round robin",
        "2 avg partial x2 <- 1 forward",
        "3 right partial x2 <- 1 forward",
        "4 avg combining;both partial x2 <- 2 hash",
        "5 right combining;both partial x2 <- 3 hash",
        "6 both combining x2 <- 4 hash, 5 hash",
    ]


def test_degrees_that_cannot_be_are_refused():
    with pytest.raises(ProgramError, match="has no vertex map, but reading, jfm, SORT, li, avg"):
        deploy(averages(), 2, degrees={"map": 2})
    with pytest.raises(ProgramError, match="jfm has degree 0; at least 1"):
        deploy(averages(), 2, degrees={"jfm": 0})
