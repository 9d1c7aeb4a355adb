"""The work inside and outside the bracket of a trial's CPU time."""

from streamlab.lab.measure.energy.recorder import EnergyRecorder
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.trial import timed_part
from streamlab.lab.trial.report import Reporter


def test_the_labs_own_slow_readings_lie_outside_the_bracket_of_cpu_time(monkeypatch, trial_here):
    steps = []

    def note(name, function):
        def step(*arguments):
            steps.append(name)
            return function(*arguments)

        return step

    for name in ("own_usage", "usage_of", "burn"):  # the last is right behind the engine's run
        monkeypatch.setattr(timed_part, name, note(name, getattr(timed_part, name)))
    monkeypatch.setattr(EnergyRecorder, "mark", note("mark", EnergyRecorder.mark))
    monkeypatch.setattr(ResourceSampler, "_run", lambda sampler: None)
    assert trial_here("correct")["status"] == "ok"
    run = steps.index("burn")
    assert steps[run - 2 : run + 4] == [
        "mark",
        "own_usage",
        "burn",
        "own_usage",
        "mark",
        "usage_of",
    ]


def test_planted_memory_is_made_before_the_lab_reads_the_cpu_time_of_the_run(
    monkeypatch, trial_here
):
    steps = []

    def note(name, function):
        def step(*arguments):
            steps.append(arguments[1] if name == "phase" else name)
            return function(*arguments)

        return step

    monkeypatch.setattr(timed_part, "ballast", note("ballast", timed_part.ballast))
    monkeypatch.setattr(Reporter, "phase", note("phase", Reporter.phase))
    assert trial_here("correct", planted_memory=0.1)["status"] == "ok"
    assert steps[steps.index("prepare") :][:3] == ["prepare", "ballast", "run"]
