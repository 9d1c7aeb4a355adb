"""When a trial is run again: by where its cores were, never by what came of it."""

import math

import pytest

from lab.matrix.matrix import Settings
from lab.measure.machine import Look
from lab.parent import one_trial
from lab.parent.one_trial import MOST_ATTEMPTS, MOST_UNSTEADY
from lab.parent.spawn import Ended


@pytest.fixture
def watched(monkeypatch):
    """Runs a made-up trial whose looks see these distances, in ns; returns runs and warnings."""

    def watch(*distances, within_ns=100.0, steady=False, far=None, status="ok"):
        seen, runs = iter(distances), []
        monkeypatch.setattr(one_trial, "await_near", lambda within: far)
        monkeypatch.setattr(
            one_trial,
            "look",
            lambda since=None: Look(loadavg=0.0, warnings=(), core_to_core_ns=next(seen)),
        )
        before, ended, after, warnings = one_trial._watched(
            lambda: runs.append(status) or Ended(result={"status": status}, attempt=len(runs)),
            Settings(cores_within_ns=within_ns, cores_steady=steady),
        )
        assert ended.attempt == len(runs)
        return before.core_to_core_ns, after.core_to_core_ns, len(runs), warnings

    return watch


def test_a_trial_whose_cores_stayed_near_is_run_once(watched):
    assert watched(30.0, 31.0) == (30.0, 31.0, 1, [])


def test_a_trial_whose_cores_went_apart_is_run_again_and_the_last_counts(watched):
    *seen, warnings = watched(30.0, 250.0, 28.0, 250.0, 27.0, 26.0)
    assert seen == [27.0, 26.0, 3]
    assert warnings == ["run 3 times, until the cores stayed within 100 ns"]


def test_a_trial_whose_cores_were_apart_when_it_began_is_run_again(watched):
    *seen, warnings = watched(228.0, 32.0, 30.0, 31.0)
    assert seen == [30.0, 31.0, 2]
    assert len(warnings) == 1


def test_one_core_is_near_itself(watched):
    assert watched(None, None) == (None, None, 1, [])


def test_it_is_not_tried_for_ever(watched):
    *_, runs, warnings = watched(*[30.0, 250.0] * MOST_ATTEMPTS)
    assert runs == MOST_ATTEMPTS
    assert warnings == ["cores did not stay within 100 ns in 5 attempts"]


def test_cores_that_do_not_come_near_are_said_and_the_trial_is_run(watched):
    assert watched(250.0, 250.0, far="too far") == (250.0, 250.0, 1, ["too far"])


def test_without_a_limit_nothing_is_run_again(watched):
    assert watched(30.0, 250.0, within_ns=None) == (30.0, 250.0, 1, [])


def test_a_trial_whose_cores_moved_is_run_again_where_they_are_to_be_steady(watched):
    steady = {"within_ns": None, "steady": True}
    assert watched(250.0, 240.0, **steady) == (250.0, 240.0, 1, [])
    *seen, warnings = watched(32.0, 156.0, 156.0, 150.0, **steady)
    assert seen == [156.0, 150.0, 2]
    assert warnings == ["run 2 times, until the cores stayed where they were"]


def test_cores_that_never_stay_are_told_and_the_last_trial_counts(watched):
    distances = [30.0, 250.0, 250.0, 30.0] * MOST_UNSTEADY
    *_, runs, warnings = watched(*distances, within_ns=None, steady=True)
    assert runs == MOST_UNSTEADY
    assert warnings == ["cores did not stay where they were in 3 attempts"]


@pytest.mark.parametrize("distances", [(30.0, math.inf), (math.inf, 250.0)])
def test_a_core_that_was_not_to_be_had_is_not_steady(watched, distances):
    *_, runs, _ = watched(*distances, 30.0, 31.0, within_ns=None, steady=True)
    assert runs == 2


@pytest.mark.parametrize("status", ["timeout", "unsupported", "invalid"])
def test_what_has_no_number_is_not_repeated_for_steadiness(watched, status):
    *_, runs, warnings = watched(30.0, 250.0, within_ns=None, steady=True, status=status)
    assert (runs, warnings) == (1, [])
    *_, runs, warnings = watched(30.0, 250.0, 30.0, 30.0, status=status)
    assert runs == 2  # near is another matter: far cores may be why


def test_near_cores_may_have_to_be_steady_as_well(watched):
    *_, runs, warnings = watched(30.0, 90.0, 90.0, 88.0, steady=True)
    assert runs == 2
    assert warnings == ["run 2 times, until the cores stayed within 100 ns and where they were"]
