"""Tests are distributed to processes; a process that ends loses only its own test."""

from pathlib import Path

import pytest

from tests.groups import group_of

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
SESSION_S = 600
"""About fifteen times the duration of a session, so that a session that hangs ends."""

TESTS = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(8))
def test_alone(number):
    if number == {ending}:
        os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.parametrize("number", range(4))
def test_spark(number):
    if number == {ending} - 8:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("processes", "ending"),
    [(2, 5), *(pytest.param(1, at, marks=pytest.mark.full) for at in (0, 11))],
)
def test_the_session_continues_after_one_of_its_processes_ends(
    pytester, monkeypatch, processes, ending
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(TESTS.format(ending=ending))
    done = pytester.runpytest_subprocess(
        *("-p", "tests.groups", "--numprocesses", str(processes)), timeout=SESSION_S
    )
    done.assert_outcomes(passed=11, failed=1)
    name = f"test_alone[[]{ending}]" if ending < 8 else f"test_spark[[]{ending - 8}]"
    done.stdout.fnmatch_lines([f"worker * crashed while running *{name}*"])


def test_names_decide_which_tests_share_a_process():
    assert group_of("tests/a.py::test_one[spark]") == group_of("tests/b.py::test_of_Spark")
    assert group_of("tests/lab/runner/test_faults.py::test_one") == "kills"
    assert group_of("tests/a.py::test_a_trial_is_killed") == "kills"
    for alone in ("tests/engines/multicore/a.py::test_a_kill", "tests/a_studies.py::test_one"):
        assert group_of(alone) == alone
    conforms = "tests/engines/test_conformance.py::test_engine_conforms"
    assert group_of(f"{conforms}[multicore-a-one]") == group_of(f"{conforms}_under[multicore-a-b]")
    assert group_of(f"{conforms}[multicore-a-one]") != group_of(f"{conforms}[multicore-b-one]")
    dies = "tests/engines/test_conformance.py::test_engine_whose_process_dies[multicore]"
    assert group_of(dies) == "kills"
    assert group_of("tests/a.py::test_one") == "tests/a.py::test_one"
