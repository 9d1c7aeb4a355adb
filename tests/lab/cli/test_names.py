"""Misspelt names get suggestions, and a shell completes names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from streamlab.lab.cli import EXIT_USER_ERROR, call, cli
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.name_suggestions import suggest_names


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (["reprot", "latest"], "no command 'reprot'; did you mean report or export?"),
        (["data", "lst"], "'list'"),
        (["data", "import", "acces-log"], "did you mean access-log?"),
        (["run", "--reprot"], "--report"),
        (["run", "evnt_window"], "did you mean event_window?"),
        (["plan", "page_veiw_join", "-w", "2"], "did you mean page_view_join?"),
        (["run", "wordcount", "--engine", "multicroe"], "did you mean multicore?"),
        (["run", "wordcount", "--engine", "multicore/ordred"], "did you mean ordered"),
        (["conform", "refrence"], "did you mean reference?"),
        (["figure", "strech:6"], "did you mean stretch:6"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion_and_no_list(words, suggested, capsys):
    assert call(words) == EXIT_USER_ERROR
    errors = capsys.readouterr().err
    assert suggested in errors
    assert errors.count(",") < 8, "no list of all"


def test_a_misspelt_run_or_dataset_gets_a_suggestion(stored_run, dataset, capsys):
    run = stored_run(["correct"], called="20260101T000000Z-night").name
    assert call(["report", run.replace("night", "nihgt")]) == EXIT_USER_ERROR
    assert f"did you mean {run}?" in capsys.readouterr().err
    assert call(["report", "latets"]) == EXIT_USER_ERROR
    assert "did you mean latest?" in capsys.readouterr().err
    assert call(["data", "show", "0" + dataset[1:16]]) == EXIT_USER_ERROR
    assert f"did you mean {dataset[:16]}?" in capsys.readouterr().err


def test_where_nothing_is_close_the_command_that_lists_is_named():
    many = [f"name{n}" for n in range(9)]
    assert suggest_names("zzz", many, "lab list things") == "`lab list things` shows all 9"
    assert suggest_names("zzz", ["a", "b"], "lab list things") == "there are a, b"
    assert suggest_names("zzz", []) == "none exist"
    assert suggest_names("NAME", ["name1"]) == "did you mean name1?"


def completed(*words):
    *before, incomplete = words
    found = ShellComplete(cli, {}, "lab", "_LAB_COMPLETE").get_completions(before, incomplete)
    return [(item.value, item.type) for item in found]


def test_existing_names_are_completed(dataset, tmp_path):
    (tmp_path / "runs" / "20260101-mine").mkdir(parents=True)
    (tmp_path / "runs" / "20260101-mine" / "run.json").write_text("{}")
    assert completed("rep") == [("report", "plain")]
    assert completed("run", "page_v") == [("page_view_join", "plain")]
    assert completed("run", "wordcount", "--engine", "mul") == [("multicore", "plain")]
    assert completed("report", "2026") == [("20260101-mine", "plain")]
    assert completed("compare", "x", "la") == [("latest", "plain")]
    assert ("stretch:6", "plain") in completed("figure", "str")
    assert completed("data", "show", "") == [(dataset[:16], "plain")]
    assert Catalog.default().root == tmp_path / "catalogue"


def test_files_are_completed_where_they_can_stand():
    assert completed("run", "my-matr") == [("my-matr", "file")]
    assert completed("conform", "my-eng") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_line_gives_a_script(shell):
    done = subprocess.run(
        [Path(sys.executable).with_name("lab")],
        env={**os.environ, "_LAB_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Click asks bash for its version, and warns where there is none.
    assert f"_LAB_COMPLETE={shell}_complete" in done.stdout
    text = (Path(__file__).parents[3] / "docs" / "running.md").read_text()
    assert f"_LAB_COMPLETE={shell}_source lab" in text
