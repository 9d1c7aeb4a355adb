"""The lab's readings of a trial bound the trial's own."""

import pytest

from lab.judge.accounts import Accounts, Sighting, accounts, contradictions

ORDER = ("prepare", "run", "begin", "end", "ran", "answer", "close")
TIMES_S = (0.0, 1.0, 1.1, 3.1, 3.2, 3.3, 3.8)
CPU_S = (0.0, 0.5, None, None, 2.5, 2.5, 2.9)


def seen(*, waited_s=0.0, **changed_s):
    return tuple(
        Sighting(
            name=name,
            at_ns=round(changed_s.get(name, at_s) * 1e9),
            cpu_s=cpu_s,
            waited_s=1.0 + waited_s * (name == "ran"),
        )
        for name, at_s, cpu_s in zip(ORDER, TIMES_S, CPU_S, strict=True)
    )


def test_phases_have_the_times_between_their_reports():
    assert accounts(seen(waited_s=0.25)) == Accounts(
        timed_s=2.0, cpu_s=2.0, waited_s=0.25, prepare_s=1.1, answer_s=0.7
    )


@pytest.mark.parametrize("name", ORDER)
def test_a_report_that_is_missing_or_comes_twice_is_named(name):
    whole = seen()
    without = tuple(sighting for sighting in whole if sighting.name != name)
    assert f"reported {name} never" in accounts(without)
    again = next(sighting for sighting in whole if sighting.name == name)
    assert f"reported {name} 2 times" in accounts((*whole, again))


def test_reports_in_another_order_are_no_account():
    assert "in another order" in accounts(seen(begin=3.15))


@pytest.mark.parametrize(
    ("timed_s", "cpu_s", "words"),
    [
        (2.0, 2.0, []),
        (1.81, 1.81, []),
        (2.19, 9.0, []),
        (1.79, 2.0, ["the trial's clock says 1.790 s, the lab's 2.000 s"]),
        (2.21, 2.0, ["the trial's clock says 2.210 s, the lab's 2.000 s"]),
        (2.0, 1.79, ["the trial's CPU time says 1.790 s"]),
        (0.0, 0.0, ["the trial's clock", "the trial's CPU time"]),
    ],
)
def test_claims_within_a_tenth_stand_and_others_are_contradicted(timed_s, cpu_s, words):
    found = contradictions(accounts(seen()), timed_s=timed_s, cpu_s=cpu_s)
    assert [text.startswith(word) for text, word in zip(found, words, strict=True)] == [True] * len(
        words
    )


def test_a_short_run_may_differ_by_50_ms_and_cpu_that_cannot_be_read_is_not_held_against_it():
    short = Accounts(timed_s=0.06, cpu_s=None, waited_s=0.0, prepare_s=0.0, answer_s=0.0)
    assert contradictions(short, timed_s=0.011, cpu_s=0.0) == []
    assert contradictions(short, timed_s=0.009, cpu_s=0.0) != []


def test_a_trial_that_had_no_core_at_its_begin_or_end_is_not_contradicted():
    late = accounts(seen(begin=1.0, end=3.15, waited_s=0.5))
    assert late.timed_s == 2.15
    assert contradictions(late, timed_s=1.5, cpu_s=2.0) == []
    assert contradictions(late, timed_s=1.4, cpu_s=2.0) != []
