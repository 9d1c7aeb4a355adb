"""The output of `lab run` for a trial, also with `-q` and `-v`."""

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, EXIT_WRONG_OUTPUT, call
from streamlab.lab.cli.progress import LINES_SHOWN, outcome_of
from tests.results.records import trial_row


def test_quiet_prints_only_problems_and_the_run_directory(matrix, capfd):
    assert call(["run", "-q", str(matrix(["correct", "lose"]))]) == EXIT_WRONG_OUTPUT
    printed = capfd.readouterr()
    assert len(printed.out.splitlines()) == 1 and printed.out.strip().endswith("-m")
    lines = printed.err.splitlines()
    assert "event_window@small/fake/lose" in lines[0] and "wrong_output" in lines[0]
    assert "fake/correct" not in printed.err


def test_verbose_states_the_cost_of_each_trial(matrix, capfd):
    assert call(["run", "--verbose", str(matrix(["correct"]))]) == EXIT_OK
    errors = capfd.readouterr().err
    assert "    timed part " in errors and ", CPU " in errors and ", RSS " in errors
    assert "    log: " in errors


def test_verbose_prints_plan_and_counters_if_an_engine_has_them(dataset, tmp_path, capfd):
    path = tmp_path / "m.toml"
    path.write_text(
        f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\n'
        '[[engine]]\nname = "multicore"\nvariants = ["dgs"]\nworkers = [1]\n'
    )
    assert call(["run", "-v", str(path)]) == EXIT_OK
    errors = capfd.readouterr().err
    assert "    plan: " in errors and "    counters: " in errors


def test_one_cannot_have_both(matrix, capfd):
    assert call(["run", "-q", "-v", str(matrix(["correct"]))]) == EXIT_USER_ERROR
    assert "either --quiet or --verbose" in capfd.readouterr().err


@pytest.mark.parametrize("option", ["-q", "--verbose"])
def test_the_options_are_in_the_help(option, capfd):
    call(["run", "--help"])
    assert option in capfd.readouterr().out


def test_a_difference_of_many_rows_is_cut_and_names_the_place_of_the_rest():
    lines = ["9 rows, expected 30", *(f"  missing row {n}" for n in range(20))]
    row = trial_row({"status": "wrong_output", "difference": "\n".join(lines)})
    first, *rows, last = outcome_of(row).splitlines()
    assert (first, rows) == ("wrong_output: 9 rows, expected 30", lines[1:LINES_SHOWN])
    assert last == f"  {21 - LINES_SHOWN} more lines are in the report"


@pytest.mark.parametrize(("reason", "text"), [("killed\nby 9",) * 2, (None, "no reason")])
def test_a_short_reason_is_complete(reason, text):
    assert outcome_of(trial_row({"status": "crash", "reason": reason})) == f"crash: {text}"
