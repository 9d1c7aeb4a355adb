"""The examples work as they are: engines conform, and a workload's oracle finds errors."""

import json
import os
import shutil
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_WRONG_OUTPUT, call
from streamlab.lab.gate.repository import write_entry_points
from tests.examples_folder import EXAMPLES, install
from tests.processes import run_python


def announced(example: str, folder: Path) -> Path:
    """Return a copy of an example that is found when it is on the path, as if it were installed."""
    copy = folder / "source"
    shutil.copytree(EXAMPLES / example, copy)
    write_entry_points(copy, copy)
    return copy


@pytest.mark.full
@pytest.mark.parametrize("example", ["batch_engine", "streaming_engine", "figure"])
def test_pip_installs_what_its_pyproject_announces(example, tmp_path):
    shutil.copytree(EXAMPLES / example, tmp_path / "source")  # a build leaves files there
    install(tmp_path / "source", tmp_path / "site")
    (installed,) = distributions(path=[str(tmp_path / "site")])
    (point,) = installed.entry_points
    copy = announced(example, tmp_path / "announced")
    assert [point] == [p for d in distributions(path=[str(copy)]) for p in d.entry_points]
    module = point.value.partition(":")[0]
    assert (tmp_path / "site" / f"{module}.py").read_text() == (copy / f"{module}.py").read_text()


def lab(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the lab's command line with what is installed in a folder."""
    known = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, [str(site), known]))
    return run_python("-m", "streamlab", *arguments, environ={"PYTHONPATH": path})


@pytest.mark.parametrize(
    ("example", "engine", "workload"),
    [
        ("batch_engine", "sums-by-stream", "event_window"),
        ("streaming_engine", "open-windows", "wordcount"),
    ],
)
def test_an_engine_conforms(example, engine, workload, tmp_path):
    done = lab(announced(example, tmp_path), "conform", engine, "--workload", workload)
    assert done.returncode == EXIT_OK, done.stdout + done.stderr
    (row,) = (line for line in done.stdout.splitlines() if line.startswith(workload))
    assert int(row.split()[2]) >= 7 and row.split()[4:] == ["0", "0"]


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (("", ""), EXIT_OK),
        (("state.requests += 1", "state.requests += 2"), EXIT_WRONG_OUTPUT),
    ],
    ids=["as it is", "with an error in the program"],
)
def test_the_oracle_of_the_workload_finds_an_error_of_the_program(edit, code, tmp_path, places):
    text = (EXAMPLES / "own_oracle" / "busiest.py").read_text()
    assert edit[0] in text
    path = tmp_path / "busiest.py"
    path.write_text(text.replace(*edit))
    assert call(["run", str(path), "--engine", "reference", "--events", "20000"]) == code
    assert call(["check", str(path), "--examples", "20"]) == EXIT_OK


@pytest.mark.full
def test_the_figure_is_listed_made_and_judged(tmp_path, places):
    site = announced("figure", tmp_path)
    listed = lab(site, "list", "figures").stdout
    assert "arrays:1  array operations and a Python loop; available" in listed
    wanted = ("figure", "arrays:1", "--quick", "--repetitions", "3", "--format", "svg")
    done = lab(site, *wanted, "--out", str(tmp_path / "out"))
    assert done.returncode == EXIT_OK, done.stdout + done.stderr
    record = json.loads((tmp_path / "out" / "arrays-1.json").read_text())
    (claim,) = record["claims"]
    assert claim["source"] == "common knowledge" and claim["measured"]
    assert (tmp_path / "out" / "arrays-1.svg").stat().st_size > 1000
