"""`lab quickstart`, and runs that show tables and a page before they end."""

import shlex
from pathlib import Path

import pytest

import streamlab.lab
from streamlab.lab.cli import EXIT_OK, call, cli
from streamlab.lab.cli.commands.quickstart import NEXT
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix
from streamlab.results.store import read_run
from tests.lab.runner.runs import run_lab


@pytest.mark.full
def test_quickstart_verifies_three_workloads_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    assert call(["quickstart", "--out", str(tmp_path / "runs")]) == EXIT_OK
    out = capsys.readouterr().out
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert [row.status for row in read_run(run_dir).rows] == ["ok"] * 12
    assert "event_window, blocks of 4,096, from memory" in out
    assert f"{run_dir / 'report.html'}\n\nnext:\n" in out
    (command,) = [line for line in out.splitlines() if line.startswith("    lab answer ")]
    assert call(shlex.split(command)[1:]) == EXIT_OK


def test_quickstart_needs_no_java_and_has_few_trials():
    cells = expand(read_matrix(Path(streamlab.lab.__file__).with_name("quickstart.toml")))
    assert {cell.engine for cell in cells} == {"multicore", "reference", "dataframe"}
    assert sum(cell.repetitions for cell in cells) == 12
    assert all(cell.refusal is None for cell in cells)


@pytest.mark.parametrize("command", [command for _, command in NEXT])
def test_the_next_commands_exist(command):
    program, name, *arguments = shlex.split(command.format(run="a-run"))
    assert program == "lab"
    cli.commands[name].make_context(name, arguments)


def test_a_run_with_first_engines_shows_their_table_and_page_before_the_others_run(capsys, matrix):
    path = matrix(["correct"], more='[[engine]]\nname = "reference"')
    path.write_text(path.read_text().replace("[run]", '[run]\nfirst = ["reference"]'))
    code, out, err = run_lab(capsys, path, "--report")
    assert code == EXIT_OK, err
    page, run_dir = out[-2:]
    assert page == f"{run_dir}/report.html"
    early, late = err.split(f"report so far: {page}\n")
    assert "[1/2" in early and "reference in Python" in early and "fake" not in early
    assert "[2/2" in late and "reference" not in late
    assert any("reference in Python" in line for line in out)
    assert [row.engine for row in read_run(Path(run_dir)).rows] == ["reference", "fake"]
