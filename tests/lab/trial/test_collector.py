"""Python's collector is on for whoever is measured, and looks at nothing of the lab's."""

import gc

import pytest

from streamlab.engines.fake.adapter import FakeEngine
from streamlab.lab.trial import process
from streamlab.lab.trial.process import gather
from streamlab.lab.trial.report import Reporter
from streamlab.lab.trial.spec import CeilingJob, OracleJob
from tests.processes import run_python


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
    gc.unfreeze()  # what other tests have left in cycles is not to stay until the end
    gc.enable()


def test_an_engine_prepares_and_runs_with_it(noting, trial_here):
    seen = noting(FakeEngine, "prepare")
    assert trial_here("correct")["status"] == "ok"
    assert seen == [(True, True)]


def test_an_oracle_has_it(noting, small_dataset, tmp_path):
    seen = noting(process, "expected")
    gather(OracleJob(dataset=small_dataset("event_window")), tmp_path, Reporter())
    assert seen == [(True, True)]


def test_a_generator_has_it(noting, tmp_path):
    seen = noting(FakeEngine, "generator_ceiling_eps")
    job = CeilingJob(engine="fake", variant="correct", batch=1)
    found = gather(job, tmp_path, Reporter())
    assert seen == [(True, True)]
    assert found.columns == {"generator_ceiling_eps": None}  # its source is virtual


def test_a_trial_within_another_process_hides_nothing_from_its_collector(trial_here):
    frozen = gc.get_freeze_count()
    assert trial_here("correct")["status"] == "ok"
    assert gc.get_freeze_count() <= frozen


def test_a_run_in_a_cycle_is_not_reported_as_leaked_after_a_trial_in_the_same_process():
    program = """
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.lab.trial.collector import collect_from_now_on
from streamlab.workloads.registry import workload

found = workload("event_window")
run = DgsRun(found.program, ordinary_input(found), RunSettings(workers=1), DgsOptions())
run.itself = run
collect_from_now_on()
"""
    done = run_python("-c", program, check=True)
    assert (done.stdout, done.stderr) == ("", "")
