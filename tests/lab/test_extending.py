"""The tutorials of docs/extending.md do what they say, from the command line, as a reader would."""

import os
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from streamlab.lab.cli import EXIT_OK, call
from streamlab.lab.gate.repository import write_entry_points
from tests.examples_folder import EXAMPLES, sensors
from tests.processes import run_python

TEXT = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")


def documented(holding: str) -> str:
    """The one piece of Python in the document that has this text."""
    (code,) = (c for c in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if holding in c)
    return code


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("name", "cls", "lines", "workloads"),
    [
        ("my-sums", "MySums", 20, ["event_window"]),
        ("my-tables", "MyTables", 20, ["linear_road_pos_rep"]),
        ("my-stream", "MyStream", 40, ["event_window", "keyed_counter"]),
    ],
)
def test_the_engine_of_the_tutorial_conforms(name, cls, lines, workloads, tmp_path, monkeypatch):
    code = documented(f"class {cls}(")
    assert len([line for line in code.splitlines() if line.strip()]) <= lines
    assert call(["new", "engine", name, "--in", str(tmp_path)]) == EXIT_OK
    (tmp_path / name / name.replace("-", "_") / "engine.py").write_text(code)
    write_entry_points(
        tmp_path / name, tmp_path / name
    )  # test_new.py installs what `lab new` writes
    known = os.environ.get("PYTHONPATH", "")
    environ = os.pathsep.join(filter(None, [str(tmp_path / name), known]))
    done = run_python(
        *("-m", "streamlab", "conform", name),
        *(part for workload in workloads for part in ("--workload", workload)),
        environ={"PYTHONPATH": environ},
    )
    assert done.returncode == EXIT_OK, done.stdout + done.stderr
    for workload in workloads:
        rows = [line for line in done.stdout.splitlines() if line.startswith(workload)]
        assert rows and all(row.split()[4:] == ["0", "0"] for row in rows)


def test_the_figure_of_the_tutorial_is_the_example():
    section = TEXT.split("\n## A figure\n")[1]
    example = EXAMPLES / "figure"
    pieces = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(pieces) == 3
    assert all(piece in (example / "arrays_and_loops.py").read_text() for piece in pieces)
    (toml,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    assert toml in (example / "pyproject.toml").read_text()


WORKLOADS = TEXT.split("\n## A workload\n")[1].split("\n## ")[0]


PYTHON = re.findall(r"^```python\n(.*?)^```", WORKLOADS, flags=re.M | re.S)
COMMANDS = re.findall(r"^lab ([^#\n]*)", WORKLOADS, flags=re.M)


def test_the_tutorial_shows_the_example_as_it_is():
    assert PYTHON[0] == (EXAMPLES / "workload_from_csv" / "sensors.py").read_text()


@pytest.mark.full
def test_every_command_of_the_tutorial_works(tmp_path: Path, monkeypatch, capsys, places):
    path = sensors(tmp_path)
    path.write_text("\n\n".join(PYTHON))
    monkeypatch.chdir(tmp_path)
    whole = pd.read_csv("sensors.csv")
    for kind, rows in whole.groupby("kind"):
        rows.drop(columns="kind").to_csv(f"{kind}.csv", index=False)
    assert len(COMMANDS) == 4
    for command in COMMANDS:
        # Five repetitions show nothing here that one does not.
        words = shlex.split(command.replace("-n 5", "-n 1"))
        assert call(words) == EXIT_OK, (command, capsys.readouterr())
    assert call(["run", "sensors.py:TWO_FILES", "--engine", "reference"]) == EXIT_OK
    output = capsys.readouterr().out
    assert "checked against the reference engine, not an independent oracle" in output
    assert "generated_sensors" in output
