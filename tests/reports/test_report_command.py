import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.cli.report import report


@pytest.fixture
def runs(make_run, trial, monkeypatch):
    first, second = make_run([trial()], name="a-run"), make_run([trial()], name="b-run")
    os.utime(first / "run.json", (1e9, 1e9))
    monkeypatch.setenv("LAB_RUNS", str(first.parent))
    return first, second


@pytest.mark.parametrize("how", ["path", "name"])
def test_a_run_is_found_by_path_and_by_name(runs, how):
    first, _ = runs
    done = CliRunner().invoke(report, [str(first) if how == "path" else first.name])
    assert done.exit_code == 0, done.output
    assert Path(done.output.strip()) == first / "report.html"
    assert (first / "report.html").is_file()


def test_latest_is_the_run_that_was_written_last(runs):
    done = CliRunner().invoke(report, ["latest"])
    assert Path(done.output.strip()) == runs[1] / "report.html"


def test_the_output_file_can_be_chosen(runs, tmp_path):
    out = tmp_path / "chosen.html"
    done = CliRunner().invoke(report, ["a-run", "--out", str(out)])
    assert done.output.strip() == str(out)
    assert out.is_file()


def test_an_unknown_run_is_a_user_error_that_names_those_there_are(runs):
    done = CliRunner().invoke(report, ["c-run"])
    assert done.exit_code == 2
    assert "'c-run'" in done.output
    assert "a-run, b-run" in done.output
