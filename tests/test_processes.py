import sys

import psutil
import pytest

from tests.processes import Popen, end_started

CHILD = """
import subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(below.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def hanging():
    """A process that waits for nothing, and a child of it that does the same."""
    process = Popen([sys.executable, "-c", CHILD], stdout=-1)
    return process, psutil.Process(int(process.stdout.readline()))


def ended(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_an_assertion_that_fails_does_not_wait_for_a_child(hanging):
    process, below = hanging
    with pytest.raises(AssertionError, match="before the child was told"), process:
        raise AssertionError("before the child was told")
    below.wait(300)
    assert process.returncode == -9 and ended(below)


def test_processes_of_a_test_end_with_it(hanging):
    process, below = hanging
    end_started()
    below.wait(300)
    assert process.returncode == -9 and process.stdout.closed and ended(below)


def test_ended_runs_are_left_unchanged():
    with Popen([sys.executable, "-c", "raise SystemExit(3)"]) as process:
        process.wait()
    assert process.returncode == 3
    end_started()
