"""`lab export`, `lab import-run`, and the commands that take an imported run."""

import json
import re

import pytest

from streamlab.lab.cli import EXIT_GATE, EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.cli.results import EXPORT_FORMS
from streamlab.results.exchange.writers import FORMS

COMMAND = "sort --parallel=2 words"
TIMES = [1.0 + number / 1000 for number in range(6)]


@pytest.fixture
def imported(tmp_path, monkeypatch, capsys):
    """A function that imports times of a command as a run and returns its name."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))

    def make(name, times):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"results": [{"command": COMMAND, "times": times}]}))
        assert call(["import-run", str(file), "--name", name]) == EXIT_OK
        assert "1 benchmark of hyperfine, 6 processes; not verified" in capsys.readouterr().out
        return name

    return make


@pytest.fixture
def names(imported):
    return [imported("1-old", TIMES), imported("2-new", [2 * time for time in TIMES])]


NEVER = "measured by another program and imported, and never checked"


def test_imported_runs_are_compared_and_marked(names, capsys):
    assert call(["compare", *names]) == EXIT_OK
    output = capsys.readouterr().out
    assert "0.500" in output and "worse" in output and f"- {COMMAND}: {NEVER}" in output


def test_imported_runs_are_gated_on_the_metrics_of_their_files(names, capsys):
    assert call(["gate", "--baseline", names[0], "--run", names[1]]) == EXIT_GATE
    output = capsys.readouterr().out
    assert "2.000" in output and "REGRESSION" in output and NEVER in output and "cpu" not in output
    assert call(["gate", "--baseline", names[0], "--run", names[0]]) == EXIT_OK


def test_a_report_of_an_imported_run_says_that_no_answer_was_checked(names, tmp_path):
    page = tmp_path / "page.html"
    assert call(["report", names[0], "--out", str(page)]) == EXIT_OK
    text = " ".join(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")).split())
    assert "No answer was checked: the numbers are from another program." in text
    assert "\N{WHITE DIAMOND} imported" in text and "All answers are right" not in text


def test_a_history_has_imported_runs_only_if_it_names_them(names, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert call(["history", *names, "--out", str(page)]) == EXIT_OK
    assert "1 step, 1 of them for the worse" in page.read_text(encoding="utf-8")
    assert call(["history"]) == EXIT_USER_ERROR
    assert "imported; name the run to include it" in capsys.readouterr().err


def test_an_imported_run_is_listed_as_such_and_not_resumed(names, capsys):
    assert call(["list", "runs"]) == EXIT_OK
    assert "1 cell, no commit, imported from hyperfine" in capsys.readouterr().out
    assert call(["run", "--resume", names[0]]) == EXIT_USER_ERROR
    assert "was imported from a file of hyperfine" in capsys.readouterr().err


def test_the_command_offers_every_form():
    assert {*EXPORT_FORMS} == {*FORMS, "csv"}


def test_a_run_is_exported_to_a_file_or_printed(names, tmp_path, capsys):
    file = tmp_path / "new" / "bmf.json"
    assert call(["export", names[0], "--to", "bmf", "--out", str(file)]) == EXIT_OK
    assert json.loads(file.read_text())[COMMAND]["throughput"]["value"] == pytest.approx(1 / 1.0025)
    capsys.readouterr()
    assert call(["export", names[0], "--to", "hyperfine"]) == EXIT_OK
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["times"] == TIMES


def test_a_name_that_is_no_part_of_a_folder_is_refused(tmp_path, capsys):
    file = tmp_path / "times.csv"
    file.write_text("cell,duration_s\na,1\n")
    assert call(["import-run", str(file), "--name", "../up"]) == EXIT_USER_ERROR
    assert "part of a folder's name" in capsys.readouterr().err
