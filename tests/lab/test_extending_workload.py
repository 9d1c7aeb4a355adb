"""The tutorial on workloads does what it says, command by command."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from streamlab.lab.cli import EXIT_OK, call
from tests.examples_folder import EXAMPLES, sensors

TEXT = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
SECTION = TEXT.split("\n## A workload\n")[1].split("\n## ")[0]


PYTHON = re.findall(r"^```python\n(.*?)^```", SECTION, flags=re.M | re.S)
COMMANDS = re.findall(r"^lab ([^#\n]*)", SECTION, flags=re.M)


def test_the_tutorial_shows_the_example_as_it_is():
    assert PYTHON[0] == (EXAMPLES / "workload_from_csv" / "sensors.py").read_text()


@pytest.mark.full
def test_every_command_of_the_tutorial_works(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
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
    said = capsys.readouterr().out
    assert "checked against the reference engine, not an independent oracle" in said
    assert "generated_sensors" in said
