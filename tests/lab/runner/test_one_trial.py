"""When a trial is run again: by where its cores were, never by what came of it."""

import pytest

from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.measure.machine import MachineState
from streamlab.lab.runner import trial_row
from streamlab.lab.runner.launcher import TrialResult
from streamlab.lab.runner.trial_row import MAX_ATTEMPTS


@pytest.fixture
def watched(monkeypatch):
    """Runs a made-up trial whose looks see these distances, in ns; returns runs and warnings."""

    def watch(*distances, within_ns=100.0, far=None, status="ok"):
        seen, runs = iter(distances), []
        monkeypatch.setattr(trial_row, "await_near", lambda within: far)
        monkeypatch.setattr(
            trial_row,
            "inspect_machine",
            lambda since=None: MachineState(loadavg=0.0, warnings=(), core_to_core_ns=next(seen)),
        )
        before, ended, after, warnings = trial_row._observe_trial(
            lambda: (
                runs.append(status) or TrialResult(columns={"status": status}, attempt=len(runs))
            ),
            Settings(cores_within_ns=within_ns),
        )
        assert ended.attempt == len(runs)
        return before.core_to_core_ns, after.core_to_core_ns, len(runs), warnings

    return watch


def test_a_trial_whose_cores_stayed_near_is_run_once(watched):
    assert watched(30.0, 31.0) == (30.0, 31.0, 1, [])


def test_a_trial_whose_cores_went_apart_is_run_again_and_the_last_counts(watched):
    *seen, warnings = watched(30.0, 250.0, 28.0, 250.0, 27.0, 26.0)
    assert seen == [27.0, 26.0, 3]
    assert warnings == ["ran 3 times until the cores stayed within 100 ns"]


def test_a_trial_whose_cores_were_apart_when_it_began_is_run_again(watched):
    *seen, warnings = watched(228.0, 32.0, 30.0, 31.0)
    assert seen == [30.0, 31.0, 2]
    assert len(warnings) == 1


def test_one_core_is_near_itself(watched):
    assert watched(None, None) == (None, None, 1, [])


def test_a_trial_without_a_number_is_run_again_too_as_far_cores_may_be_why(watched):
    *_, runs, _ = watched(30.0, 250.0, 30.0, 30.0, status="timeout")
    assert runs == 2


def test_it_is_not_tried_for_ever(watched):
    *_, runs, warnings = watched(*[30.0, 250.0] * MAX_ATTEMPTS)
    assert runs == MAX_ATTEMPTS
    assert warnings == ["cores did not stay within 100 ns in 5 attempts"]


def test_cores_that_stay_apart_are_reported_and_the_trial_is_run(watched):
    assert watched(250.0, 250.0, far="too far") == (250.0, 250.0, 1, ["too far"])


def test_without_a_limit_nothing_is_run_again(watched):
    assert watched(30.0, 250.0, within_ns=None) == (30.0, 250.0, 1, [])
