"""`make test`: which stages run, and how it ends."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is absent here")


def make_test(stages: str) -> subprocess.CompletedProcess[str]:
    """Run `make test` with other stages, without its set-up."""
    set_up = "build/core/.stamp-installed"
    return subprocess.run(
        ["make", "-C", str(ROOT), "-o", set_up, "test", f"TEST_STAGES={stages}"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_step_of_the_set_up_prints_its_usual_duration():
    recipes = subprocess.run(
        ["make", "-C", str(ROOT), "--dry-run", "--always-make", "setup"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    steps = re.findall(r'^echo "set-up (\d) of 3: .* \(usually \d+ (?:s|min)\)"$', recipes, re.M)
    assert steps == ["1", "2", "3"]


def test_a_stage_that_fails_stops_no_other_stage_and_fails_the_run():
    done = make_test("no-such-stage help")
    assert done.returncode != 0
    assert "list the targets" in done.stdout
    summary = "test stage no-such-stage: FAILED\ntest stage help: ok\n"
    assert summary in done.stdout


def test_stages_that_pass_end_with_a_summary_and_one_alone_with_its_own():
    both = make_test("help help")
    assert (both.returncode, both.stdout.count("test stage help: ok\n")) == (0, 2)
    alone = make_test("help")
    assert alone.returncode == 0
    assert "list the targets" in alone.stdout and "test stage" not in alone.stdout


def test_the_exit_code_of_a_single_stage_is_the_exit_code_of_the_run():
    assert make_test("no-such-stage").returncode != 0
