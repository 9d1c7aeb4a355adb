"""The bisection for a sustainable rate, by votes of trials."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.lab.matrix.load_table import SearchSettings
from streamlab.lab.runner.search.bisection import replay
from streamlab.lab.runner.search.state import (
    CRASH,
    FAIL,
    INVALID,
    PASS,
    STOP,
    TOO_SHORT,
    VERDICTS,
    Vote,
)
from tests.examples import examples
from tests.lab.runner.search.engine import Synthetic, searched

PLAIN = SearchSettings(levels=())
SEARCHES = 300


def bracket_of(engine, search=PLAIN, **more):
    return searched(engine, search, **more)[0].bracket


def rates(state, purpose):
    return [probe.rate_eps for probe in state.probes if probe.purpose == purpose]


def answers(*verdicts):
    return [Vote(verdict=verdict, reason=f"because of {verdict}") for verdict in verdicts]


@given(st.floats(min_value=5, max_value=1e9))
@settings(deadline=None)
def test_a_sharp_capacity_is_bracketed_to_two_percent(capacity):
    found = bracket_of(Synthetic(capacity_eps=capacity))
    assert found.r_pass_eps <= capacity < found.r_fail_eps
    assert found.r_fail_eps - found.r_pass_eps <= 0.02 * found.r_pass_eps * (1 + 1e-4)
    assert found.confirmed
    assert found.refuted
    assert found.reason is None


def test_a_sharp_capacity_takes_the_probes_of_the_method():
    state, votes = searched(Synthetic(capacity_eps=33_000), PLAIN)
    assert rates(state, "double") == [10_000, 20_000, 40_000]
    assert rates(state, "bisect") == [30_000, 35_000, 32_500, 33_750, 33_125]
    assert rates(state, "confirm") == [32_500]
    assert rates(state, "refute") == [33_125]
    # Two votes decide each of eight probes, five processes each end.
    assert len(votes) == 2 * 8 + 5 + 5


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("spread", "lapse", "least_containing", "most_width", "most_trials"),
    [
        (0.0, 0.02, 0.98, 0.06, 45),
        pytest.param(0.005, 0.0, 0.98, 0.07, 50, marks=pytest.mark.full),
        pytest.param(0.01, 0.02, 0.97, 0.11, 56, marks=pytest.mark.full),
        (0.02, 0.02, 0.96, 0.16, 60),
    ],
)
def test_a_noisy_capacity_is_bracketed(spread, lapse, least_containing, most_width, most_trials):
    rng = np.random.default_rng(30)
    inside, widths, trials = 0, [], []
    for _ in range(SEARCHES):
        capacity = 10 ** rng.uniform(4, 7)
        engine = Synthetic(capacity_eps=capacity, spread=spread, lapse=lapse)
        state, votes = searched(engine, PLAIN, rng)
        found = state.bracket
        high = np.inf if found.r_fail_eps is None else found.r_fail_eps
        inside += found.r_pass_eps <= capacity < high
        widths.append(high / found.r_pass_eps - 1)
        trials.append(len(votes))
    assert inside / SEARCHES >= least_containing
    assert np.quantile(widths, 0.95) <= most_width
    assert np.quantile(trials, 0.95) <= most_trials


def test_a_capacity_below_the_first_rate_is_found_by_halving():
    state, _ = searched(Synthetic(capacity_eps=900), PLAIN)
    assert rates(state, "double") == [10_000, 5_000, 2_500, 1_250, 625]
    assert state.bracket.r_pass_eps <= 900 < state.bracket.r_fail_eps


def test_nothing_sustained_is_a_result():
    state, votes = searched(Synthetic(capacity_eps=1.0), PLAIN)
    assert len(rates(state, "double")) == 13
    assert len(votes) == 26
    found = state.bracket
    assert found.r_pass_eps is None
    assert found.r_fail_eps == pytest.approx(10_000 / 4096, rel=1e-5)
    assert found.reason == "no rate was sustained, down to 2.4414 events/s: backlog grows"


def test_a_vote_is_decided_early_by_a_majority():
    assert replay(PLAIN, answers(PASS, PASS)).probes[0].outcome == PASS
    assert replay(PLAIN, answers(FAIL, FAIL)).probes[0].outcome == FAIL
    undecided = replay(PLAIN, answers(PASS, FAIL))
    assert (undecided.next.probe, undecided.next.vote) == (1, 3)


def test_an_invalid_vote_is_repeated_and_is_no_failure():
    assert replay(PLAIN, answers(INVALID, PASS, FAIL)).next.probe == 1
    assert replay(PLAIN, answers(INVALID, PASS, PASS)).probes[0].outcome == PASS
    lost = answers(FAIL, INVALID, INVALID, INVALID)
    assert replay(PLAIN, lost).next.probe == 1
    assert replay(PLAIN, [*lost, *answers(PASS, PASS)]).probes[0].outcome == PASS
    assert replay(PLAIN, [*lost, *answers(INVALID)]).probes[0].outcome == INVALID


def test_the_generators_limit_is_not_the_engines():
    found = bracket_of(Synthetic(capacity_eps=1e6, generator_eps=55_000))
    assert found.r_pass_eps == pytest.approx(55_000, rel=0.02)
    assert found.r_pass_eps <= 55_000
    assert found.r_fail_eps is None
    assert found.confirmed
    assert found.reason.startswith("the generator, not the engine, is the limit above 55,000 ")
    assert "send lag p99 3 ms" in found.reason


def test_the_inputs_length_is_a_limit_that_is_tried_itself():
    engine = Synthetic(capacity_eps=1e6)
    state, _ = searched(engine, PLAIN, feasible_eps=33_333.3)
    assert rates(state, "double") == [10_000, 20_000, 33_333.3]
    found = state.bracket
    assert (found.r_pass_eps, found.r_fail_eps, found.confirmed) == (33_333.3, None, True)
    assert found.reason == (
        "no rate failed: the input is too short for rates above 33,333.3 events/s"
    )


def test_an_input_that_proves_too_short_bounds_the_search():
    votes = answers(PASS, PASS, TOO_SHORT)
    state = replay(PLAIN, votes)
    assert state.next.rate_eps == 15_000
    assert "the input is the limit above 10,000 events/s: because of" in state.bracket.reason


def test_the_highest_rate_allowed_is_kept_to():
    search = SearchSettings(levels=(), max_eps=25_000)
    state, _ = searched(Synthetic(capacity_eps=1e6), search)
    assert max(probe.rate_eps for probe in state.probes) == 25_000
    assert "max_eps" in state.bracket.reason


def test_a_wrong_answer_ends_the_search_without_a_rate():
    state = replay(PLAIN, answers(PASS, PASS, STOP))
    assert state.next is None
    assert state.bracket.r_pass_eps is None
    assert state.bracket.reason == "because of stop"


def test_an_engine_that_only_crashes_is_not_tried_thirteen_times():
    state = replay(PLAIN, answers(CRASH, CRASH))
    assert state.next is None
    assert state.bracket.reason.startswith("the engine failed at 10,000 events/s, before any rate")


def test_a_crash_above_a_rate_that_passed_is_a_fail():
    state = replay(PLAIN, answers(PASS, PASS, CRASH, CRASH))
    assert state.next.rate_eps == 15_000
    assert state.bracket.r_fail_eps == 20_000


def test_a_rate_that_does_not_hold_in_every_process_is_lowered():
    search = SearchSettings(levels=(), max_eps=10_000)
    state = replay(search, answers(PASS, PASS, PASS, PASS, FAIL))
    assert (state.next.purpose, state.next.rate_eps) == ("confirm", 9_800)
    assert not state.bracket.confirmed
    done = replay(search, answers(PASS, PASS, PASS, PASS, FAIL, *[PASS] * 5))
    assert done.next is None
    assert (done.bracket.r_pass_eps, done.bracket.confirmed) == (9_800, True)


def test_a_rate_that_never_holds_is_reported_as_not_confirmed():
    search = SearchSettings(levels=(), max_eps=10_000)
    state = replay(search, answers(PASS, PASS, *[FAIL] * 13))
    assert state.next is None
    assert not state.bracket.confirmed
    assert "not confirmed: no rate down to 7,847.17 events/s held" in state.bracket.reason


def test_an_accidental_fail_at_a_low_rate_is_found_out():
    # Sustains everything, but both votes at 20,000 failed.
    votes = answers(PASS, PASS, FAIL, FAIL)
    state = replay(PLAIN, votes)
    while state.next is not None:
        votes.append(Vote(verdict=PASS))
        state = replay(PLAIN, votes)
    assert state.bracket.r_fail_eps is None
    assert "20,000 events/s failed by majority, but no rate up to" in state.bracket.reason


def test_levels_are_measured_last_whatever_they_say():
    search = SearchSettings(levels=(0.1, 0.5), level_repetitions=2, max_eps=10_000)
    votes = answers(*[PASS] * 7)
    assert replay(search, votes).next.rate_eps == 1_000
    state = replay(search, [*votes, *answers(FAIL, PASS, INVALID, FAIL)])
    assert state.next is None
    assert rates(state, "level") == [1_000, 5_000]
    assert state.bracket.r_pass_eps == 10_000


def test_votes_beyond_the_end_are_refused():
    with pytest.raises(ValueError, match="the search ended before"):
        replay(PLAIN, answers(STOP, PASS))


VERDICT_LISTS = st.lists(st.sampled_from(sorted(set(VERDICTS) - {STOP})), max_size=120)
ASKED = st.builds(
    SearchSettings,
    start_eps=st.floats(min_value=1, max_value=1e8),
    tolerance=st.sampled_from([0.01, 0.02, 0.1, 0.5]),
    votes=st.sampled_from([1, 3, 5]),
    confirmations=st.integers(0, 5),
    levels=st.sampled_from([(), (0.5,), (0.1, 0.9)]),
    max_eps=st.none() | st.floats(min_value=1, max_value=1e8),
)


@given(search=ASKED, verdicts=VERDICT_LISTS, feasible=st.none() | st.floats(10, 1e8))
@settings(max_examples=examples(200), deadline=None)
def test_any_verdicts_give_one_search_that_can_be_resumed_anywhere(search, verdicts, feasible):
    votes, steps = [], []
    state = replay(search, votes, feasible_eps=feasible)
    for verdict in verdicts:
        if state.next is None:
            break
        steps.append(state.next)
        votes.append(Vote(verdict=verdict, reason="r"))
        state = replay(search, votes, feasible_eps=feasible)
    for count, step in enumerate(steps):
        assert replay(search, votes[:count], feasible_eps=feasible).next == step
    assert replay(search, votes, feasible_eps=feasible) == state
    found = state.bracket
    limits = [limit for limit in (search.max_eps, feasible) if limit is not None]
    assert all(0 < step.rate_eps <= min([*limits, np.inf]) for step in steps)
    if found.r_pass_eps is not None and found.r_fail_eps is not None:
        assert found.r_pass_eps < found.r_fail_eps


@given(seed=st.integers(0, 2**32 - 1), spread=st.floats(0, 0.3), lapse=st.floats(0, 0.4))
@settings(max_examples=examples(100), deadline=None)
def test_every_search_ends(seed, spread, lapse):
    rng = np.random.default_rng(seed)
    engine = Synthetic(capacity_eps=1e5, spread=spread, lapse=lapse)
    assert searched(engine, SearchSettings(), rng)[0].next is None
