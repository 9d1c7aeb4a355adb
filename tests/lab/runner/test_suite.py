"""Runs of suites: all workloads on an input."""

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.registry import suite


def test_a_suite_has_every_workload_on_its_input_in_order_of_their_numbers(capsys):
    arguments = ["--suite", "nexmark", "--engine", "fake", "--events", "100", "--dry-run"]
    assert call(["run", *arguments]) == EXIT_OK
    cells = [line.split("/")[0] for line in capsys.readouterr().out.splitlines()]
    assert cells == list(suite("nexmark"))
    assert cells.index("nexmark_q9") < cells.index("nexmark_q13")


def test_an_unknown_suite_is_refused_with_the_closest_name(capsys):
    assert call(["run", "--suite", "nexmak", "--dry-run"]) == EXIT_USER_ERROR
    assert "no suite 'nexmak'; did you mean nexmark?" in capsys.readouterr().err


def test_a_suite_and_a_workload_exclude_each_other(capsys):
    assert call(["run", "nexmark_q0", "--suite", "nexmark"]) == EXIT_USER_ERROR
    assert "give either WORKLOAD or --suite" in capsys.readouterr().err
