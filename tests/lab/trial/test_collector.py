"""Python's collector is on for whoever is measured, and looks at nothing of the lab's."""

import gc

import pytest

from engines.fake.adapter import FakeEngine
from lab.trial import process
from lab.trial.spec import CeilingJob, OracleJob


@pytest.fixture
def noting(monkeypatch):
    """Switches the collector off, as a measured process begins; notes how it is at a call."""
    seen = []

    def note(where, name):
        function = getattr(where, name)

        def call(*args):
            seen.append((gc.isenabled(), gc.get_freeze_count() > 0))
            return function(*args)

        monkeypatch.setattr(where, name, call)
        return seen

    gc.unfreeze()
    gc.disable()
    yield note
    gc.enable()


def test_an_engine_prepares_and_runs_with_it(noting, trial_here):
    seen = noting(FakeEngine, "prepare")
    assert trial_here("correct")["status"] == "ok"
    assert seen == [(True, True)]


def test_an_oracle_has_it(noting, small_dataset, monkeypatch):
    from lab.trial import verify

    seen = noting(verify, "make_expected")
    process._prepare_oracle(OracleJob(dataset=small_dataset("event_window")))
    assert seen == [(True, True)]


def test_a_generator_has_it(noting):
    seen = noting(FakeEngine, "generator_ceiling_eps")
    result = {}
    process._measure_ceiling(CeilingJob(engine="fake", variant="correct", batch=1), result)
    assert seen == [(True, True)]
    assert result == {"generator_ceiling_eps": None}  # its source is virtual
