"""`lab run --dry-run`: the cells of a matrix or suite, the estimated time, and missing parts."""

import json

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix
from streamlab.lab.runner.estimate import estimate
from streamlab.results.seal import write_sealed
from streamlab.workloads.registry import suite
from tests.results.records import change_meta

MINUTE = "2026-01-01T00:{:02d}:00+00:00"


def edit(path, **values):
    content = json.dumps(json.loads(path.read_text()) | values)
    write_sealed(path.parents[1], path, content.encode())


CELLS = {
    "variants": ["correct", "lose"],
    "repetitions": 2,
    "options": "{ capacity_eps = 1_000_000 }",
}


@pytest.fixture
def stored(matrix, stored_run):
    """A matrix of two cells, and a run of it: a minute a trial, but the last, which took three."""
    path, run_dir = matrix(**CELLS), stored_run(**CELLS)
    for trial in (run_dir / "trials").glob("*.json"):
        edit(trial, started_at=MINUTE.format(json.loads(trial.read_text())["order_index"]))
    session = {"started_at": MINUTE.format(0), "ended_at": MINUTE.format(6), "interrupted": False}
    change_meta(run_dir, sessions=[session])
    return path, run_dir


def estimated(path, root):
    matrix = read_matrix(path)
    return estimate(expand(matrix), matrix.settings, root)


def test_it_takes_as_long_as_in_the_stored_run(stored):
    path, run_dir = stored
    found = estimated(path, run_dir.parent)
    assert (found.seconds, found.unknown, found.notes) == (360, (), ())
    assert run_dir.name in found.source


def test_other_repetitions_take_as_much_longer(stored):
    path, run_dir = stored
    path.write_text(path.read_text().replace("repetitions = 2", "repetitions = 20"))
    assert estimated(path, run_dir.parent).seconds == 3600


def test_a_trial_that_crashed_does_not_say_how_long_one_takes(stored):
    path, run_dir = stored
    trials = {json.loads(t.read_text())["order_index"]: t for t in (run_dir / "trials").glob("*")}
    last = json.loads(trials[3].read_text())["cell"]
    edit(trials[3], status="crash")  # three minutes; the cell's other one took one
    assert estimated(path, run_dir.parent).seconds == 240
    for trial in trials.values():
        edit(trial, status="oom")
    found = estimated(path, run_dir.parent)
    assert (found.seconds, len(found.unknown)) == (0, 2)
    assert last in found.unknown and "has completed" in found.notes[0]


def test_the_time_between_two_sessions_is_not_in_it(stored):
    path, run_dir = stored
    later = "2026-01-02T00:0{}:00+00:00"
    for trial in (run_dir / "trials").glob("*.json"):
        index = json.loads(trial.read_text())["order_index"]
        if index >= 2:
            edit(trial, started_at=later.format(index))
    second = {"started_at": later.format(2), "ended_at": later.format(4)}
    for end, seconds in ((MINUTE.format(2), 240), (None, 240)):  # None: it was killed
        sessions = [{"started_at": MINUTE.format(0), "ended_at": end}, second]
        change_meta(run_dir, sessions=sessions)
        assert estimated(path, run_dir.parent).seconds == seconds


@pytest.mark.parametrize(
    ("part", "value"),
    [("host", {"cpu_model": "another machine"}), ("cells", {}), ("sessions", 3)],
)
def test_runs_of_other_machines_or_cells_and_damaged_ones_say_nothing(stored, part, value):
    path, run_dir = stored
    change_meta(run_dir, **{part: value})
    found = estimated(path, run_dir.parent)
    assert (found.seconds, len(found.unknown)) == (0, 2)


def test_a_dry_run_says_it_and_what_is_not_in_it(stored, matrix, capsys):
    path, run_dir = stored
    assert call(["run", str(path), "--dry-run"]) == EXIT_OK
    assert f"about 6 min for the trials of 2 cells, from {run_dir.name} on this" in (
        capsys.readouterr().err
    )
    fresh = 'options = { capacity_eps = 3 }\nlabel = "slow"\n[[workload]]\nname = "wordcount"\nevents = 9'
    other = matrix(["correct"], options="{}", name="other", more="")
    other.write_text(other.read_text().replace("options = {}", fresh))
    assert call(["run", str(other), "--dry-run"]) == EXIT_OK
    said = capsys.readouterr().err
    assert (
        "time: unknown; no stored run on this machine has completed event_window@small/fake" in said
    )
    assert "without the time to generate input: wordcount" in said


OWN = """
from streamlab import csv, workload
from streamlab.workloads.suite.event_window.program import PROGRAM
WORKLOAD = workload(PROGRAM, input=csv("gone.csv", ts="t"))
"""


@pytest.mark.parametrize("how", [["--dry-run"], []])
@pytest.mark.parametrize("lacking", ["dataset", "file"])
def test_missing_input_is_told_before_other_input_is_made(how, lacking, matrix, tmp_path, capsys):
    path = matrix(["correct"])
    (tmp_path / "own.py").write_text(OWN)
    missing = {
        "dataset": 'name = "wordcount"\ndataset = "ffffffff"',
        "file": 'name = "own.py"',
    }[lacking]
    first = '[[workload]]\nname = "wordcount"\nevents = 1_000\nlabel = "first"\n'
    path.write_text(path.read_text() + f"{first}[[workload]]\n{missing}\n")
    before = set((tmp_path / "catalogue").iterdir())
    assert call(["run", str(path), *how]) == EXIT_USER_ERROR
    said = capsys.readouterr().err
    assert {"dataset": "no dataset 'ffffffff'", "file": "gone.csv"}[lacking] in said
    assert set((tmp_path / "catalogue").iterdir()) == before
    assert not (tmp_path / "runs").exists()


def test_a_suite_has_every_workload_on_its_input_in_order_of_their_numbers(capsys):
    arguments = ["--suite", "nexmark", "--engine", "fake", "--events", "100", "--dry-run"]
    assert call(["run", *arguments]) == EXIT_OK
    cells = [line.split("/")[0] for line in capsys.readouterr().out.splitlines()]
    assert cells == list(suite("nexmark"))
    assert cells.index("nexmark_q9") < cells.index("nexmark_q13")


def test_an_unknown_suite_is_refused_with_the_closest_name(capsys):
    assert call(["run", "--suite", "nexmak", "--dry-run"]) == EXIT_USER_ERROR
    assert "no suite 'nexmak'; did you mean nexmark?" in capsys.readouterr().err


def test_a_suite_and_a_workload_exclude_each_other(capsys):
    assert call(["run", "nexmark_q0", "--suite", "nexmark"]) == EXIT_USER_ERROR
    assert "give either WORKLOAD or --suite" in capsys.readouterr().err
