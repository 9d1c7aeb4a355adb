"""`lab run -q` and `-v`."""

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, EXIT_WRONG_OUTPUT, call


def test_quiet_tells_only_problems_and_the_run_directory(matrix, capfd):
    assert call(["run", "-q", str(matrix(["correct", "lose"]))]) == EXIT_WRONG_OUTPUT
    told = capfd.readouterr()
    assert len(told.out.splitlines()) == 1 and told.out.strip().endswith("-m")
    lines = told.err.splitlines()
    assert "event_window@small/fake/lose" in lines[0] and "wrong_output" in lines[0]
    assert "fake/correct" not in told.err


def test_verbose_tells_what_each_trial_cost(matrix, capfd):
    assert call(["run", "--verbose", str(matrix(["correct"]))]) == EXIT_OK
    told = capfd.readouterr().err
    assert "    timed part " in told and ", CPU " in told and ", RSS " in told
    assert "    log: " in told


def test_verbose_tells_plan_and_counters_where_an_engine_has_them(dataset, tmp_path, capfd):
    path = tmp_path / "m.toml"
    path.write_text(
        f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\n'
        '[[engine]]\nname = "multicore"\nvariants = ["dgs"]\nworkers = [1]\n'
    )
    assert call(["run", "-v", str(path)]) == EXIT_OK
    told = capfd.readouterr().err
    assert "    plan: " in told and "    counters: " in told


def test_one_cannot_have_both(matrix, capfd):
    assert call(["run", "-q", "-v", str(matrix(["correct"]))]) == EXIT_USER_ERROR
    assert "either --quiet or --verbose" in capfd.readouterr().err


@pytest.mark.parametrize("option", ["-q", "--verbose"])
def test_the_options_are_in_the_help(option, capfd):
    call(["run", "--help"])
    assert option in capfd.readouterr().out
