"""The lab's readings of a trial bound the trial's own."""

import pytest

from streamlab.lab.judge.lab_readings import LabReadings, PhaseReport, contradictions, read_phases
from streamlab.lab.trial.report import AFTER_BEGIN, AFTER_END, BEFORE_BEGIN, BEFORE_END

TIMES_S = {
    "prepare": 0.0,
    "run": 1.0,
    BEFORE_BEGIN: 1.1,
    AFTER_BEGIN: 1.2,
    BEFORE_END: 3.1,
    AFTER_END: 3.4,
    "ran": 3.5,
    "answer": 3.6,
    "close": 3.8,
}
CPU_S = {"run": 0.5, "ran": 2.5}
READING_S = 0.05
CORES = 2


def seen(changed_s=None):
    return tuple(
        PhaseReport(
            name=name,
            at_ns=round(at_s * 1e9),
            cpu_s=CPU_S.get(name),
            read_ns=round((at_s + READING_S) * 1e9),
        )
        for name, at_s in (TIMES_S | (changed_s or {})).items()
    )


def test_the_timed_part_lies_between_the_stamps_and_the_rest_is_around_it():
    assert read_phases(seen()) == LabReadings(
        least_s=1.9, most_s=2.3, cpu_s=2.0, margin_s=0.25, prepare_s=1.2, answer_s=0.7
    )


@pytest.mark.parametrize("name", TIMES_S)
def test_a_report_that_is_missing_or_comes_twice_is_named(name):
    whole = seen()
    without = tuple(phase for phase in whole if phase.name != name)
    assert f"reported {name!r} never" in read_phases(without)
    again = next(phase for phase in whole if phase.name == name)
    assert f"reported {name!r} 2 times" in read_phases((*whole, again))


def test_reports_in_another_order_are_no_account():
    assert "in the wrong order" in read_phases(seen({BEFORE_BEGIN: 1.25}))


@pytest.mark.parametrize(
    ("timed_s", "cpu_s", "words"),
    [
        (2.0, 2.0, []),
        (1.9, 1.81, []),  # it lost its core between its clock and a stamp
        (2.3, 9.0, []),
        (1.89, 2.0, ["the trial's clock says 1.890 s, the lab's between 1.900 and 2.300 s"]),
        (2.31, 2.0, ["the trial's clock says 2.310 s"]),
        (2.0, 1.28, []),  # two cores for 250 ms between the readings
        (2.0, 1.27, ["the trial's CPU time says 1.270 s"]),
        (0.0, 0.0, ["the trial's clock", "the trial's CPU time"]),
    ],
)
def test_readings_outside_the_bounds_are_contradicted(timed_s, cpu_s, words):
    found = contradictions(read_phases(seen()), timed_s=timed_s, cpu_s=cpu_s, cores=CORES)
    assert len(found) == len(words)
    assert all(text.startswith(word) for text, word in zip(found, words, strict=True))


def test_cpu_that_cannot_be_read_is_not_held_against_a_trial():
    unread = LabReadings(
        least_s=1.0, most_s=1.0, cpu_s=None, margin_s=0.0, prepare_s=0.0, answer_s=0.0
    )
    assert contradictions(unread, timed_s=1.0, cpu_s=0.0, cores=CORES) == []


def test_a_trial_that_states_no_cpu_time_is_not_contradicted():
    assert contradictions(read_phases(seen()), timed_s=2.0, cpu_s=None, cores=CORES) == []
