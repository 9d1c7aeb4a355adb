"""`tools/demo` around a `lab` that is a script, in a directory of its own."""

import subprocess
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "tools" / "demo"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "run-1").mkdir()
    return tmp_path


def lab(folder: Path, run: str, report: str = "echo run-1/report.html") -> None:
    """Install a `lab` that notes how it was called."""
    file = folder / ".venv" / "bin" / "lab"
    file.write_text(
        f'#!/bin/sh\necho "$@" >> calls\ncase $1 in run) {run} ;; report) {report} ;; esac\n'
    )
    file.chmod(0o755)


def demo(folder: Path, real_data: str = "nowhere") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(DEMO), real_data, "scratch"], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_table_and_the_path_of_the_report_come_last(folder):
    lab(folder, "echo 'a table'; echo run-1", "echo 'drawing figures'; echo run-1/report.html")
    done = demo(folder)
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["a table", "run-1", "report: run-1/report.html"]
    assert (folder / "calls").read_text().splitlines() == ["run --demo", "report run-1"]


def test_real_data_is_named_only_where_it_is_there(folder):
    lab(folder, "echo run-1")
    (folder / "real").mkdir()
    demo(folder, real_data="real")
    assert (folder / "calls").read_text().splitlines()[0] == "run --demo --real-data real"


def test_a_wrong_answer_is_reported_and_fails_the_demo(folder):
    lab(folder, "echo 'a table'; echo run-1; exit 4")
    done = demo(folder)
    assert done.returncode == 4
    assert done.stdout.splitlines()[-1] == "report: run-1/report.html"


def test_a_run_that_never_started_shows_its_message_and_no_report(folder):
    lab(folder, "echo 'no such matrix' >&2; exit 2")
    done = demo(folder)
    assert done.returncode == 2
    assert "no such matrix" in done.stderr
    assert "report:" not in done.stdout


def test_a_report_that_fails_fails_the_demo(folder):
    lab(folder, "echo run-1", "echo 'cannot read run-1' >&2; exit 2")
    done = demo(folder)
    assert done.returncode == 2
    assert "cannot read run-1" in done.stderr
