"""Graphs before and after they are deployed, as text and pictures, and the output of `lab plan`."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.model import Dataflow
from streamlab.workloads.model.dataflow import Flow, of_events
from streamlab.workloads.model.dataflow.drawing import (
    MEANING,
    PARTIALS,
    pictures_of,
    type_label,
)
from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.picture import pictures_svg, pictures_text
from streamlab.workloads.registry import workload
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, READING, averages

PROGRAM = averages()
HERE = "tests.workloads.model.dataflow.test_drawing"


def diamond() -> Dataflow:
    flow = Flow("diamond", markers=10)
    loads = flow.add(JFM, flow.source("reading", READING))
    left, right = flow.add(AVG, loads), flow.add(replace(AVG, name="right"), loads)
    third = flow.add(LI, flow.sort(right))
    return flow.gives(flow.add(replace(AVG, name="both"), left, third))


def row() -> Dataflow:
    flow = Flow("row", markers=10)
    totals = flow.add(AVG, flow.add(JFM, flow.source("reading", READING)))
    return flow.gives(flow.add(LI, flow.sort(totals)))


def test_the_text_has_the_graph_the_deployment_and_a_legend():
    deployed = deploy(row(), 2, streams=[2])
    assert pictures_text(pictures_of(deployed)).splitlines() == [
        "dataflow row: markers every 10",
        "  reading  source",
        "  jfm      OpStateless       <- reading (U(unit, ts plug load))",
        "  avg      OpKeyedUnordered  <- jfm (U(plug, ts load))",
        "  SORT     by ts             <- avg (U(plug, ts load))",
        "  li       OpKeyedOrdered    <- SORT (O(plug, ts load))",
        "  answer                     <- li (O(plug, ts load))",
        "2 workers",
        "  reading        x 2",
        "  jfm            x 2  <- reading (U(unit, ts plug load), forward)",
        "  avg partial    x 2  <- jfm (U(plug, ts load), forward)",
        f"                 state {AVG.aggregate.itemsize} bytes per key",
        "  avg combining  x 2  <- avg partial (aggregates of plug, hash)",
        f"                 state {AVG.aggregate.itemsize + AVG.state.itemsize} bytes per key",
        "  SORT           x 2  <- avg combining (U(plug, ts load), hash)",
        "  li             x 2  <- SORT (O(plug, ts load), forward)",
        f"                 state {LI.state.itemsize} bytes per key",
        "  answer              <- li (O(plug, ts load))",
        f"  {MEANING[Route.HASH]}",
        f"  {MEANING[Route.FORWARD]}",
        f"  {PARTIALS}",
    ]


def test_one_worker_is_one():
    text = pictures_text(pictures_of(deploy(PROGRAM, 1)))
    assert "1 worker\n" in text
    assert "hash" not in text


def test_a_type_of_many_fields_is_shortened():
    fields = np.dtype([(f"f{i}", np.int64) for i in range(6)])
    assert type_label(of_events(fields)) == "U(unit, ts f0 f1 f2 +3)"


ROW = row()


@pytest.mark.parametrize("flow", [PROGRAM, diamond()], ids=lambda flow: flow.name)
def test_the_pictures_name_each_unit_type_and_route(flow: Dataflow):
    deployed = pictures_of(deploy(flow, 2))
    svg = pictures_svg(deployed)
    texts = {"".join(part.itertext()) for part in ElementTree.fromstring(svg).iter() if part.text}
    for vertex in flow.vertices:
        assert any(vertex.name in text for text in texts)
    for word in ("x 2", "hash", "forward", "U(plug, ts load)", "2 workers", "answer"):
        assert any(word in text for text in texts), word
    assert svg == pictures_svg(pictures_of(deploy(flow, 2)))


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    svg = tmp_path / "plan.svg"
    assert call(["plan", f"{HERE}:PROGRAM", "--workers", "2", "--svg", str(svg)]) == EXIT_OK
    shown = capsys.readouterr().out
    assert shown.startswith(pictures_text(pictures_of(deploy(PROGRAM, 2))))
    ElementTree.fromstring(svg.read_text())


def test_the_command_shows_the_deployment_for_the_streams_of_a_workload(capsys):
    assert call(["plan", "user_clusters", "--workers", "4"]) == EXIT_OK
    assert "  features partial    x 2" in capsys.readouterr().out
    assert call(["plan", "user_clusters", "--workers", "4", "--streams", "3"]) == EXIT_OK
    assert "  features partial    x 3" in capsys.readouterr().out


def test_the_command_shows_the_deployment_for_a_dataset(capsys):
    made = ensure(workload("user_clusters"), {"streams": 3}, 60, 1)
    arguments = ["plan", "user_clusters", "--workers", "4", "--dataset", made.id]
    assert call(arguments) == EXIT_OK
    assert "  features partial    x 3" in capsys.readouterr().out


def test_the_text_names_a_deployment_without_types():
    text = pictures_text(pictures_of(deploy(PROGRAM, 2, sound=False)))
    assert "2 workers, as a system without types" in text
    assert "SORT" not in text.split("2 workers")[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--dataset", "x"],
            "--dataset is for a workload's input, but a program without a workload has no input",
        ),
        (
            ["--param", "a=1"],
            "--param is for a workload's input, but a program without a workload has no input",
        ),
        (["--optimizer", "cost"], "--optimizer is for a DGS program"),
        (["--streams", "0"], "'0' is neither N nor KIND=N"),
        (["--streams", "plug=2"], "a kind of averages: reading"),
    ],
    ids=lambda of: "-".join(of).strip("-") if isinstance(of, list) else "",
)
def test_options_of_other_models_are_refused(given, said, capsys):
    assert call(["plan", f"{HERE}:PROGRAM", "--workers", "2", *given]) == EXIT_USER_ERROR
    assert said in " ".join(capsys.readouterr().err.split())


def test_streams_are_no_option_of_a_synchronization_plan(capsys):
    assert call(["plan", "event_window", "-w", "2", "--streams", "2"]) == EXIT_USER_ERROR
    assert "--streams is for a typed dataflow graph, query or pipeline" in capsys.readouterr().err
