"""A workload of one's own in a matrix: found by its file, verified, known by its short name."""

from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.results.store import read_run
from tests.lab.runner.runs import run_lab
from tests.workloads.test_registry import own_file

ENGINES = (
    '[[engine]]\nname = "reference"\n[[engine]]\nname = "multicore"\nworkers = [1, 2]\n'
    "[run]\nenergy = 'none'\n"
)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")


def entry(reference: str, more: str = "") -> str:
    return f'[[workload]]\nname = "{reference}"\nevents = 30_000\n{more}'


def test_a_matrix_names_a_file_relative_to_itself_and_results_show_the_short_name(
    capsys, tmp_path: Path
):
    own_file(tmp_path / "elsewhere")
    matrix = tmp_path / "elsewhere" / "m.toml"
    matrix.write_text(entry("mine.py") + ENGINES)
    code, out, err = run_lab(capsys, matrix)
    assert code == EXIT_OK, (out, err)
    run = read_run(Path(out[-1]))
    assert [row.status for row in run.rows] == ["ok"] * 3
    assert {row.workload for row in run.rows} == {"mine"}
    assert run.rows[0].cell == "mine/reference/sequential/w1"
    code, out, err = run_lab(capsys, "--resume", out[-1])
    assert code == EXIT_OK, (out, err)


def test_two_workloads_of_one_name_want_labels(capsys, tmp_path: Path):
    own_file(tmp_path / "a")
    own_file(tmp_path / "b")
    matrix = tmp_path / "m.toml"
    matrix.write_text(entry("a/mine.py") + entry("b/mine.py") + ENGINES)
    code, _, err = run_lab(capsys, matrix, "--dry-run")
    assert code == EXIT_USER_ERROR
    assert "2 [[workload]] tables are called mine; give each a different label" in err
    matrix.write_text(entry("a/mine.py") + entry("b/mine.py", 'label = "b"\n') + ENGINES)
    code, out, _ = run_lab(capsys, matrix, "--dry-run")
    assert code == EXIT_OK
    assert "mine@b/multicore/dgs/w2/b4096  x1" in out


def test_a_bad_file_in_a_matrix_is_an_error_with_its_place(capsys, tmp_path: Path):
    (tmp_path / "mine.py").write_text("WORKLOAD = print\n")
    matrix = tmp_path / "m.toml"
    matrix.write_text(entry("wordcount") + entry("mine.py") + ENGINES)
    code, _, err = run_lab(capsys, matrix)
    assert code == EXIT_USER_ERROR
    assert f"{matrix}: [[workload]] 2, key name: {tmp_path / 'mine.py'} is a builtin" in err
    assert "Traceback" not in err
