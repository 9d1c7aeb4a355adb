"""Trials of the fake engine on small datasets, in a process of their own or in this one."""

import pytest

from streamlab.lab.judge.judgement import judge
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.evidence import write_evidence
from streamlab.lab.trial.process import gather
from streamlab.lab.trial.report import Reporter
from streamlab.lab.trial.spec import EngineTrial

TIMEOUT_S = 600

SPECIFIED = ("load", "planted_memory", "planted_slowdown", "workers")


@pytest.fixture
def specify(tmp_path, small_dataset):
    """A function that specifies a trial of the fake engine on a small dataset."""

    def make(variant, *, workload="event_window", engine="fake", events=None, **given):
        fields = {"workers": 1}
        fields |= {name: given.pop(name) for name in list(given) if name in SPECIFIED}
        return EngineTrial(
            engine=engine,
            variant=variant,
            batch=1,
            options=given,
            dataset=small_dataset(workload, events=events),
            series=tmp_path / "series.parquet",
            histograms=tmp_path / "trial.hlog",
            outputs=tmp_path / "outputs.parquet",
            **fields,
        )

    return make


@pytest.fixture
def trial(tmp_path, specify):
    """Runs one trial of the fake engine in a real process; returns the columns that it gives."""

    def run(variant, *, timeout_s=TIMEOUT_S, **given):
        spec = specify(variant, **given)
        return run_trial(spec, log=tmp_path / "trial.log", timeout_s=timeout_s).columns

    return run


@pytest.fixture
def trial_here(specify, tmp_path):
    """Does in this process what a trial and its judge do: for what needs no process of its own."""

    def run(variant, **given):
        spec = specify(variant, **given)
        write_evidence(gather(spec, tmp_path, Reporter()), tmp_path)
        return judge(spec, tmp_path, None).columns

    return run
