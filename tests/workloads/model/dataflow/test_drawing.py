"""Graphs before and after they are deployed, as text and pictures, and what `lab plan` says."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, READING, averages
from workloads.model import Dataflow
from workloads.model.dataflow import Flow, of_events
from workloads.model.dataflow.deployment import deploy
from workloads.model.dataflow.drawing import PARTIALS, deployment_dot, deployment_text, short
from workloads.model.dataflow.drawing_svg import deployment_svg

PROGRAM = averages()
HERE = "tests.workloads.model.dataflow.test_drawing"


def diamond() -> Dataflow:
    flow = Flow("diamond", markers=10)
    loads = flow.add(JFM, flow.source("reading", READING))
    left, right = flow.add(AVG, loads), flow.add(replace(AVG, name="right"), loads)
    third = flow.add(LI, flow.sort(right))
    return flow.gives(flow.add(replace(AVG, name="both"), left, third))


def test_the_text_has_the_graph_the_deployment_and_what_its_words_mean():
    assert deployment_text(deploy(PROGRAM, 2, degrees={"avg": 3})).splitlines() == [
        "dataflow averages: markers every 10",
        "  reading  source",
        "  jfm      OpStateless       <- reading (U(unit, ts plug load))",
        "  SORT     by ts             <- jfm (U(plug, ts load))",
        "  li       OpKeyedOrdered    <- SORT (O(plug, ts load))",
        "  avg      OpKeyedUnordered  <- li (O(plug, ts load))",
        "  answer                     <- avg (U(plug, ts load))",
        "2 workers",
        "  reading                x 1",
        "  jfm                    x 2  <- reading (U(unit, ts plug load), round robin)",
        "  SORT; li; avg partial  x 2  <- jfm (U(plug, ts load), hash)",
        "  avg combining          x 3  <- SORT; li; avg partial (aggregates of plug, hash)",
        "  answer                      <- avg combining (U(plug, ts load))",
        "  round robin: dealt in turn; a stateless operator may be at any item",
        "  hash: by key; an instance has all items of its keys, from all instances before it",
        f"  {PARTIALS}",
    ]


def test_one_worker_is_one():
    text = deployment_text(deploy(PROGRAM, 1))
    assert "1 worker\n" in text
    assert "hash" not in text


def test_a_type_of_many_fields_is_shortened():
    fields = np.dtype([(f"f{i}", np.int64) for i in range(6)])
    assert short(of_events(fields)) == "U(unit, ts f0 f1 f2 +3)"


@pytest.mark.parametrize("flow", [PROGRAM, diamond()], ids=lambda flow: flow.name)
def test_the_pictures_name_each_unit_type_and_route(flow: Dataflow):
    deployed = deploy(flow, 2)
    dot, svg = deployment_dot(deployed), deployment_svg(deployed)
    texts = {"".join(part.itertext()) for part in ElementTree.fromstring(svg).iter() if part.text}
    for vertex in flow.vertices:
        assert vertex.name in dot
        assert any(vertex.name in text for text in texts)
    for word in ("x 2", "hash", "round robin", "U(plug, ts load)", "2 workers", "answer"):
        assert word in dot
        assert any(word in text for text in texts), word
    assert svg == deployment_svg(deploy(flow, 2))


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    svg, dot = tmp_path / "plan.svg", tmp_path / "plan.dot"
    files = ["--svg", str(svg), "--dot", str(dot)]
    assert call(["plan", f"{HERE}:PROGRAM", "--workers", "2", *files]) == EXIT_OK
    shown = capsys.readouterr().out
    assert shown.startswith(deployment_text(deploy(PROGRAM, 2)))
    ElementTree.fromstring(svg.read_text())
    assert dot.read_text().startswith("digraph")


def test_the_command_shows_the_graph_of_a_workload(capsys: pytest.CaptureFixture[str]):
    assert call(["plan", "user_clusters", "--workers", "4"]) == EXIT_OK
    assert "  locate; features partial  x 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    "option", [["--dataset", "x"], ["--param", "a=1"], ["--optimizer", "cost"]], ids=lambda o: o[0]
)
def test_what_a_deployment_does_not_depend_on_is_refused(option, capsys):
    assert call(["plan", f"{HERE}:PROGRAM", "--workers", "2", *option]) == EXIT_USER_ERROR
    assert f"{option[0]} is of synchronization plans" in capsys.readouterr().err
