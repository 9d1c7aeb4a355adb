"""Plans are shown as text and SVG, and the commands print them."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from click.testing import CliRunner

from streamlab.lab.cli import EXIT_USER_ERROR, call
from streamlab.lab.cli.commands.plan import plan_for_parameters
from streamlab.lab.cli.programs import check
from streamlab.lab.cli.programs import plan as plan_command
from streamlab.workloads.model import DGSProgram, ModelError
from streamlab.workloads.model.dgs.plan_text import plan_svg, plan_text
from streamlab.workloads.optimizers.cost import MIN_SPEEDUP
from streamlab.workloads.registry import names, workload

PLANNED = [name for name in names() if isinstance(workload(name).program, DGSProgram)]


def plan_of(name: str, workers: int, **params: object):
    return plan_for_parameters(workload(name), params, 10_000, workers).plan


def test_the_text_shows_the_tree_with_workers_and_streams():
    assert plan_text(plan_of("event_window", 3)).splitlines() == [
        "plan for event_window: 3 workers (2 with work)",
        "join/fork  window  barrier: barrier",
        "  worker 0   window  value: value-0",
        "  worker 1   window  value: value-1",
    ]


def test_a_leaf_shows_at_which_events_it_keeps_order():
    text = plan_text(plan_of("event_window", 1))
    assert "worker 0   window  value: value-0, value-1; barrier: barrier" in text
    assert "(in order at barrier: barrier)" in text


def test_few_keys_are_shown_tree_by_tree_and_many_by_shape():
    assert "key 1\n" in plan_text(plan_of("page_view_join", 2, pages=2))
    many = plan_text(plan_of("page_view_join", 8, pages=1000))
    assert "keys, one tree each" in many
    assert "key 1\n" not in many
    assert len(many.splitlines()) < 40


def test_shapes_beyond_the_limit_are_counted():
    text = plan_text(plan_of("page_view_join", 16, pages=1000, streams=1))
    assert text.splitlines()[-1].startswith("and 10 more shapes for ")


@pytest.mark.parametrize("ends", ["all", "house"])
def test_events_across_keys_are_planned_for_the_keys_that_streams_have(ends):
    text = plan_text(plan_of("smart_home", 2, ends=ends, slice_s=60, period_s=10))
    assert "worker 0   plug  load: load-0\n" in text
    assert text.endswith("worker 1   plug  load: load-1")


@pytest.mark.parametrize("name", PLANNED)
def test_the_picture_names_every_worker_with_work(name):
    plan = plan_of(name, 4)
    workers = {n.worker for t in plan.trees for n in t.root.walk() if not n.children}
    svg = plan_svg(plan)
    ElementTree.fromstring(svg)
    for worker in workers:
        assert f"worker {worker}" in svg


def test_the_same_plan_gives_the_same_svg():
    assert plan_svg(plan_of("event_window", 2)) == plan_svg(plan_of("event_window", 2))


def test_lab_plan_prints_the_plan_and_writes_the_picture(tmp_path):
    svg = tmp_path / "plan.svg"
    result = CliRunner().invoke(
        plan_command,
        ["page_view_join", "--workers", "2", "--param", "pages=3", "--svg", svg],
        standalone_mode=False,
    )
    assert result.exception is None
    assert result.output.startswith("plan for page_view_join: 2 workers, 3 keys")
    assert svg.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["event_window", "--workers", "0"], "0 is not in the range"),
        (["event_window", "--workers", "2", "--param", "streams"], "not of the form K=V"),
        (["event_window", "--workers", "2", "--svg", "/nonexistent/x.svg"], "x.svg"),
        (["event_window", "--workers", "2", "--param", "a=1", "--dataset", "00"], "--param"),
    ],
)
def test_lab_plan_refuses_wrong_arguments(arguments, message):
    result = CliRunner().invoke(plan_command, arguments)
    assert result.exit_code != 0
    assert message in result.output


BROKEN = """
from dataclasses import replace
from streamlab.workloads.suite.event_window.program import PROGRAM

def join(first, second, state):
    state.sum = first.sum

BAD = replace(PROGRAM, parallel=(replace(PROGRAM.parallel[0], join=join),))
NUMBER = 3
"""


def test_lab_check_prints_the_counterexample_of_a_program_in_the_current_directory(
    tmp_path, monkeypatch
):
    (tmp_path / "broken_join.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = CliRunner().invoke(
        check, ["broken_join:BAD", "--examples", "100"], standalone_mode=False
    )
    assert result.return_value == 2
    assert "C2 fails for window -> (window, window)" in result.output
    assert "expected: window(sum=" in result.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_workload", "or by package.module:ATTRIBUTE"),
        ("streamlab.workloads.suite.event_window.program:VALUE", "is a int, not a DGSProgram"),
    ],
)
def test_lab_check_names_the_missing_object(name, message, capsys):
    assert call(["check", name]) == EXIT_USER_ERROR
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("forward", "a query of operators"),
        ("linear_road_toll", "an ordered pipeline"),
        ("user_activity", "a typed dataflow graph"),
    ],
)
def test_a_program_of_another_model_has_no_plan_and_the_error_says_so(name: str, words: str):
    with pytest.raises(
        ModelError, match=rf"workload {name} is {words}.*, not a program with .*: it"
    ):
        plan_of(name, 2)


def test_the_command_says_in_numbers_why_a_plan_was_chosen():
    arguments = ["event_window", "--workers", "2", "--param", "values_per_barrier=1"]
    result = CliRunner().invoke(
        plan_command, [*arguments, "--optimizer", "cost", "--events", "99999"]
    )
    assert result.exit_code == 0
    assert "costs in ns: update " in result.output
    # Costs are measured here and now, so that what is chosen is not known: it follows from them.
    predicted = re.findall(r"^(1 worker|2 workers, by stream): (\S+) ns", result.output, re.M)
    (one, one_ns), (two, two_ns) = [(name, float(ns)) for name, ns in predicted]
    name, used = (two, 2) if two_ns * MIN_SPEEDUP < one_ns else (one, 1)
    assert f"chosen: {name}; it uses {used} of 2 workers" in result.output


def test_an_optimizer_that_is_not_installed_is_refused(capsys):
    arguments = ["plan", "event_window", "--workers", "2", "--optimizer", "balance"]
    assert call(arguments) == EXIT_USER_ERROR
    assert "no optimizer 'balance'; did you mean balanced?" in capsys.readouterr().err
