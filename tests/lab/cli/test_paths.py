"""Relative paths of a command whose workload changes the current folder."""

import os
import re
from pathlib import Path

import pytest

from streamlab.lab import cli
from streamlab.lab.cli import EXIT_OK, call
from streamlab.lab.cli.paths import LISTS, VARIABLES, absolute_places
from streamlab.workloads.default_folders import catalogue, runs, start_folder
from streamlab.workloads.registry import names, workload
from tests.workloads.user_workload import user_file


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """The current folder, with a workload that leaves it, and all places relative to it."""
    folder, elsewhere = tmp_path / "begun", tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = user_file(folder)
    path.write_text(f"import os\nos.chdir({str(elsewhere)!r})\n{path.read_text()}")
    monkeypatch.chdir(folder)
    for name in ("LAB_RUNS", "LAB_DATA", "LAB_CACHE"):
        monkeypatch.setenv(name, name.lower())
    yield folder
    assert list(elsewhere.iterdir()) == []


@pytest.mark.some(1)
@pytest.mark.parametrize("reference", ["mine.py", "mine:WORKLOAD"])
def test_a_run_is_stored_where_the_command_began(begun, capsys, monkeypatch, reference):
    arguments = ["--events", "20000", "--engine", "reference", "-q"]
    assert call(["run", reference, *arguments]) == EXIT_OK, capsys.readouterr()
    run_dir = Path(capsys.readouterr().out.splitlines()[-1])
    assert run_dir.parent == begun / "lab_runs" and (run_dir / "run.json").exists()
    assert (begun / "lab_data").is_dir()


def test_files_that_options_name_are_written_where_the_command_began(begun, capsys):
    assert call(["plan", "mine.py", "-w", "2", "--svg", "plan.svg"]) == EXIT_OK
    assert (begun / "plan.svg").exists()
    assert call(["check", str(begun / "mine.py")]) == EXIT_OK


def test_a_matrix_and_its_files_are_found_where_the_command_began(begun, capsys):
    (begun / "other.py").write_text((begun / "mine.py").read_text())
    (begun / "m.toml").write_text(
        "".join(
            f'[[workload]]\nname = "{name}.py"\nlabel = "{name}"\nevents = 9\n'
            for name in ("mine", "other")
        )
        + '[[engine]]\nname = "reference"\n'
    )
    assert call(["run", "m.toml", "--dry-run"]) == EXIT_OK, capsys.readouterr()


def test_a_table_is_found_where_the_command_began(begun, capsys):
    (begun / "table.csv").write_text("t,kind,v\n1,value,2\n")
    columns = ["--columns", "ts=t,kind=kind,value=v"]
    arguments = ["--workload", "mine.py", "--file", "*.csv", *columns]
    assert call(["data", "import", "table", *arguments]) == EXIT_OK, capsys.readouterr()
    assert (begun / "lab_data").is_dir()


@pytest.mark.parametrize("name", [*VARIABLES, *LISTS])
def test_a_relative_path_of_the_environment_is_made_absolute(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, "given")
    with absolute_places():
        assert os.environ[name] == str(tmp_path / "given")
    monkeypatch.setenv(name, "/given")
    with absolute_places():
        assert os.environ[name] == "/given"


def test_each_path_of_a_list_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["a", "/b", ""]))
    with absolute_places():
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [
            str(tmp_path / "a"), "/b", str(tmp_path)
        ]  # fmt: skip


def test_places_are_seen_from_where_the_command_began(tmp_path, monkeypatch):
    for name in ("LAB_RUNS", "LAB_DATA"):
        monkeypatch.delenv(name, raising=False)
    root = Path(__file__).parents[3]
    monkeypatch.chdir(root)
    with absolute_places():
        os.chdir(tmp_path)
        assert (catalogue().path, runs().path) == (root / "data", root / "results" / "runs")
        assert start_folder() == root
    assert start_folder() == tmp_path


def test_a_command_begins_in_a_folder_that_was_removed(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with absolute_places():
        assert not gone.exists()
    monkeypatch.chdir(tmp_path)


def test_all_paths_of_the_command_line_are_made_absolute():
    for path in Path(cli.__file__).parent.glob("*.py"):
        assert path.name == "paths.py" or not re.search(r"click\.Path\(", path.read_text()), path


def test_a_workloads_code_is_the_same_inside_a_command_and_in_a_trial():
    outside = {name: workload(name).bound({}).code() for name in names()}
    with absolute_places():
        assert {name: workload(name).bound({}).code() for name in names()} == outside
