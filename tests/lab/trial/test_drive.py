"""What lies inside the bracket of a trial's CPU time, and what outside."""

from streamlab.lab.measure.energy.recorder import EnergyRecorder
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.trial import timed_part


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
