"""`lab answer` shows what a run of a declared workload gave, as the first page of the cookbook has it."""

import re
import shutil
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, EXIT_WRONG_OUTPUT, call
from streamlab.reports.summary import BY_INVARIANTS
from streamlab.results.store import read_run
from tests.examples_folder import EXAMPLES
from tests.lab.runner.runs import run_lab

PAGE = (EXAMPLES.parent / "docs" / "cookbook.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.usefixtures("places")


def first_answer() -> list[str]:
    """Return the lines of the page's first answer."""
    _, _, section = PAGE.partition("## Mean")
    (answer, *_) = re.findall(r"^```\n(ts .*?)^```$", section, re.DOTALL | re.MULTILINE)
    return answer.splitlines()


OUTPUTS = """
import streamlab as lab

rides = lab.csv("rides.csv", ts="started_at", zone="America/New_York")
counts = lab.window("30 min", key="station", input=rides, result={"rides": lab.count()})
dear = lab.select(["station", "price"], where="price > 3", input=rides)
answers = lab.outputs(counts=counts, busiest=lab.top(1, by="rides", input=counts), dear=dear)
"""


def test_a_program_with_several_outputs_runs_in_one_command_and_answers_by_name(
    capsys, tmp_path: Path, monkeypatch
):
    shutil.copy(EXAMPLES / "cookbook" / "rides.csv", tmp_path)
    (tmp_path / "rides.py").write_text(OUTPUTS)
    monkeypatch.chdir(tmp_path)
    code, out, err = run_lab(capsys, "rides.py", "--engine", "reference")
    assert code == EXIT_OK, (out, err)
    run_dir = out[-1]
    assert run_dir.endswith("-rides")
    rows = {row.workload: row for row in read_run(Path(run_dir)).rows}
    assert {name: row.status for name, row in rows.items()} == dict.fromkeys(
        ["rides.counts", "rides.busiest", "rides.dear"], "ok"
    )
    assert rows["rides.counts"].dataset == rows["rides.busiest"].dataset
    for output, columns in (("busiest", "ts rank rides station at"), ("dear", "ts station price")):
        assert call(["answer", run_dir, "--output", output, "--head", "1"]) == EXIT_OK
        assert capsys.readouterr().out.splitlines()[0].split() == columns.split()
    assert call(["answer", run_dir]) == EXIT_USER_ERROR
    assert "choose one with --cell or --output" in capsys.readouterr().err
    assert call(["answer", run_dir, "--output", "paid"]) == EXIT_USER_ERROR
    assert "has no output 'paid'; it has counts, busiest, dear" in capsys.readouterr().err
    assert call(["explain", "rides.py", "--engine", "duckdb"]) == EXIT_USER_ERROR
    assert "name one of them: " in capsys.readouterr().err
    assert call(["explain", "rides.py:busiest", "--engine", "duckdb"]) == EXIT_OK


def test_the_first_program_runs_on_two_engines_and_shows_its_answer(
    capsys, tmp_path: Path, monkeypatch
):
    folder = tmp_path / "cookbook"
    shutil.copytree(EXAMPLES / "cookbook", folder)
    monkeypatch.chdir(folder)
    code, out, err = run_lab(capsys, "rides.py")
    assert code == EXIT_OK, (out, err)
    run_dir = out[-1]
    assert {row.engine: row.status for row in read_run(Path(run_dir)).rows} == {
        "reference": "ok",
        "multicore": "ok",
    }
    shown = first_answer()
    assert call(["answer", run_dir, "--head", str(len(shown) - 1)]) == EXIT_OK
    captured = capsys.readouterr()
    assert [line.rstrip() for line in captured.out.splitlines()] == shown
    assert "rides/multicore/vsn/w1/b4096, rides/reference/sequential/w1" in captured.err
    assert call(["answer", run_dir, "--cell", "rides/spark*"]) == EXIT_USER_ERROR
    assert "has no cell that matches 'rides/spark*'" in capsys.readouterr().err
    program = folder / "rides.py"
    program.write_text(program.read_text().replace("/ 60", "/ 61"))
    assert call(["answer", run_dir]) == EXIT_USER_ERROR
    assert "was edited since the run; run it again" in capsys.readouterr().err


MATRIX = """
[[workload]]
name = "rides.py"

[[engine]]
name = "fake"
variants = ["correct", "lose"]

[[load]]
rate_eps = 500
warm_up_s = 0.02
window_s = 0.1
"""


def test_windows_of_arrival_time_have_no_answer_but_are_checked_and_marked(
    capsys, tmp_path: Path, monkeypatch
):
    folder = tmp_path / "cookbook"
    shutil.copytree(EXAMPLES / "cookbook", folder)
    monkeypatch.chdir(folder)
    head, *_, program = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (folder / "rides.py").write_text(f"{head}\n{program}")
    (folder / "m.toml").write_text(MATRIX)
    code, out, err = run_lab(capsys, "m.toml", "--keep-outputs", "--report")
    assert code == EXIT_WRONG_OUTPUT, (out, err)
    run_dir = out[-1]
    rows = {row.variant: row for row in read_run(Path(run_dir)).rows}
    assert {name: row.status for name, row in rows.items()} == {
        "correct": "ok",
        "lose": "wrong_output",
    }
    assert {row.checked_by for row in rows.values()} == {"invariants"}
    assert "rides (count) of all rows of " in rows["lose"].reason
    assert f"rides: {BY_INVARIANTS}" in out
    assert ">by invariants</a>" in Path(out[-2]).read_text()
    assert len([*(Path(run_dir) / "outputs").glob("*.parquet")]) == 2, "each cell has its own"
    assert call(["answer", run_dir]) == EXIT_USER_ERROR
    assert "so its answer differs from trial to trial" in capsys.readouterr().err
