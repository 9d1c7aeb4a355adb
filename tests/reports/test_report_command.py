"""`lab report`: the run and the output file that it takes, and its errors."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.cli.results import report


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
    before = sorted(runs[0].rglob("*"))
    done = CliRunner().invoke(report, ["a-run", "--out", str(out)])
    assert done.output.strip() == str(out)
    assert out.is_file()
    assert sorted(runs[0].rglob("*")) == before, "the run's directory may be read-only"


def test_an_unknown_run_is_a_user_error_that_names_those_close_to_it(runs):
    done = CliRunner().invoke(report, ["c-run"])
    assert done.exit_code == 2
    assert "'c-run'" in done.output
    assert "did you mean b-run or a-run?" in done.output


def test_runs_are_found_by_name_from_any_folder(make_run, trial, tmp_path, monkeypatch, capsys):
    run = make_run([trial()], name="20260101-000000-mine")
    (tmp_path / "share" / "lab").mkdir(parents=True)
    (tmp_path / "share" / "lab" / "runs").symlink_to(run.parent)
    monkeypatch.delenv("LAB_RUNS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    found = tmp_path / "share" / "lab" / "runs" / run.name
    for here in ("a", "b"):
        (tmp_path / here).mkdir()
        monkeypatch.chdir(tmp_path / here)
        assert call(["list", "runs"]) == EXIT_OK
        assert str(found) in capsys.readouterr().out
        for name in (run.name, "mine", "latest"):
            assert call(["report", name]) == EXIT_OK
            assert capsys.readouterr().out.strip() == str(found / "report.html")


def test_a_part_of_several_names_is_refused_and_they_are_named(runs, capsys):
    assert call(["report", "run"]) == EXIT_USER_ERROR
    assert "a-run, b-run" in capsys.readouterr().err
