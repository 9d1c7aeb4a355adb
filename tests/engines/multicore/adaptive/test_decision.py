"""When another plan is worth a change, by given rates and costs."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.multicore.dgs.adaptive.deciders import (
    MAX_SKIPPED,
    Patience,
    RateDecider,
    propose_change,
    same_plan,
)
from streamlab.engines.multicore.dgs.adaptive.rates import (
    MAX_SAMPLED,
    are_similar,
    measure_rates,
)
from streamlab.engines.multicore.dgs.recovery.cuts import find_cuts
from streamlab.workloads.model import Alphabet
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, profile
from streamlab.workloads.optimizers import PlanRequest, choose
from streamlab.workloads.registry import workload
from tests.engines.multicore.dgs_programs import COSTS
from tests.workloads.suite.streams import generated

MS = 1e6
ERA = 30_000


def chooser(name, data, optimizer, workers=2):
    """Return what chooses a plan of a program for rates."""
    program = workload(name).program

    def chosen(rates):
        request = PlanRequest(
            program=program,
            alphabet=Alphabet(kinds=program.kinds, keys=data.alphabet.keys),
            streams=tuple(rates),
            workers=workers,
            costs=lambda: COSTS,
        )
        return choose(optimizer, request).plan

    return chosen


def in_era(data, era):
    """Return the rates of one era, counted in rows of the view streams."""
    begins = [min(len(stream), era * ERA) for stream in data.streams]
    ends = [min(len(stream), (era + 1) * ERA) for stream in data.streams]
    return measure_rates(data, begins, ends, profile(data))


def views(**given):
    params = {"streams": 1, "pages": 8, "skew": 2.0, "views_per_update": 1000, **given}
    return generated(workload("page_view_join"), params, 4 * ERA, 1)


def wanted(plan, rates, chosen, *, margin=0.1, period_ns=100 * MS):
    return propose_change(
        plan, rates, choose_plan=chosen, costs=COSTS, margin=margin, period_ns=period_ns
    )


@pytest.mark.parametrize("optimizer", ["by-stream", "balanced", "cost"])
def test_a_hot_page_that_moves_changes_the_plan_and_one_that_stays_does_not(optimizer):
    moving, staying = views(drift=ERA), views()
    chosen = chooser("page_view_join", moving, optimizer)
    first = chosen(in_era(moving, 0))
    found = wanted(first, in_era(moving, 1), chosen)
    assert found is not None
    assert not same_plan(found.plan, first)
    assert "with another plan" in found.why
    for era in range(3):
        assert wanted(chosen(in_era(staying, 0)), in_era(staying, era), chosen) is None


def test_a_silent_stream_that_wakes_changes_the_plan():
    era = 10_000
    params = {"streams": 4, "values_per_barrier": 1000, "drift": era}
    data = generated(workload("event_window"), params, 12 * era, 1)
    chosen = chooser("event_window", data, "by-stream")

    def awake(*streams):
        ends = [era if index in streams else 0 for index in range(4)]
        return measure_rates(data, [0] * 5, [*ends, era // 1000], profile(data))

    first = chosen(awake(0, 1))
    assert wanted(first, awake(0, 1), chosen) is None
    together = [pair for pair in [(0, 2), (0, 3)] if wanted(first, awake(*pair), chosen)]
    assert len(together) == 1, "one of them has both streams on one worker"


def test_a_change_must_be_worth_its_margin_and_its_evidence():
    data = views(drift=ERA)
    chosen = chooser("page_view_join", data, "balanced")
    first, rates = chosen(in_era(data, 0)), in_era(data, 1)
    assert wanted(first, rates, chosen) is not None
    assert wanted(first, rates, chosen, margin=3.0) is None
    assert (
        wanted(first, rates, chosen).saved_ns
        == 2 * wanted(first, rates, chosen, period_ns=50 * MS).saved_ns
    )


def test_a_change_is_made_once_as_much_was_missed_as_it_takes_and_no_sooner():
    data = views(drift=ERA)
    chosen = chooser("page_view_join", data, "balanced")
    found = wanted(chosen(in_era(data, 0)), in_era(data, 1), chosen)
    patience, change_ns = Patience(), 2.5 * found.saved_ns
    assert patience.worth(found, change_ns) is None
    assert patience.worth(found, change_ns) is None
    made = patience.worth(found, change_ns)
    assert made.plan is found.plan
    assert "of savings were missed, and a change takes" in made.why
    # It begins anew after a change, and where the running plan is the better one again.
    assert patience.worth(found, 1.5 * found.saved_ns) is None
    assert patience.worth(None, change_ns) is None
    assert patience.worth(found, 1.5 * found.saved_ns) is None
    assert patience.worth(found, 1.5 * found.saved_ns) is not None


def test_rates_are_sampled_where_there_are_many_events_and_leave_no_tag_out():
    data = views(drift=ERA)
    ends = [len(stream) for stream in data.streams]
    whole = profile(data)
    found = measure_rates(data, [0] * len(ends), ends, whole)
    assert ends[0] > 2 * MAX_SAMPLED
    for got, exact in zip(found, whole, strict=True):
        assert abs(got.events - exact.events) < 0.01 * exact.events + 8
        assert np.array_equal(got.counts > 0, exact.counts > 0)
    nothing = measure_rates(data, ends, ends, whole)
    assert [one.counts.max() for one in nothing] == [1, 1]


def between(data, begin, end):
    """Return the rates between two rows of the longest stream."""
    longest = max(data.streams, key=len)
    rows = [
        [int(np.searchsorted(stream.ts, longest.ts[row])) for stream in data.streams]
        for row in (begin, end)
    ]
    return measure_rates(data, *rows, profile(data))


def test_rates_are_alike_unless_a_tag_differs_by_more_than_the_limit_or_chance():
    data = views(drift=ERA)
    first, second = between(data, 0, ERA), between(data, ERA, 2 * ERA)
    third, rest = between(data, 0, ERA // 3), between(data, ERA // 3, ERA)
    assert are_similar(third, rest, 0.05)
    assert are_similar(rest, third, 0.05)
    assert not are_similar(first, second, 0.05)
    assert not are_similar(second, first, 0.5)


@pytest.mark.parametrize("times, same_rates", [(1.02, True), (1.5, False)])
def test_a_tag_counts_by_its_own_share(times, same_rates):
    """Synchronizations are one in a hundred events, and may be most of the cost."""
    data = generated(workload("event_window"), {"values_per_barrier": 100}, 1 << 20, 1)
    rates = profile(data)
    barriers = replace(rates[-1], counts=(rates[-1].counts * times).astype(np.int64))
    assert are_similar(rates, (*rates[:-1], barriers), 0.05) == same_rates


@pytest.mark.parametrize("step, same_rates", [(1, False), (4, True)])
def test_an_event_of_a_sample_that_counts_for_four_says_as_much_as_one(step, same_rates):
    def counted(rare):
        counts = np.array([[MAX_SAMPLED * step - rare], [rare]])
        return [StreamProfile(name="all", kinds=(0,), counts=counts)]

    assert are_similar(counted(400), counted(640), 0.05) == same_rates
    assert are_similar(counted(640), counted(400), 0.05) == same_rates


@pytest.fixture
def looking():
    """Return a decider of an input, the optimizer that it asks, and what that was asked."""

    def made(data, margin=0.1):
        chosen, asked = chooser("page_view_join", data, "balanced"), []

        def counted(rates):
            asked.append(rates)
            return chosen(rates)

        cuts = find_cuts(workload("page_view_join").program, data, 1)
        how = {"period_s": 1, "margin": margin, "costs": COSTS, "input_profile": profile(data)}
        return RateDecider(data, cuts, choose_plan=counted, **how), cuts, chosen, asked

    return made


@pytest.mark.parametrize("margin", [0.1, 2.5])
def test_no_plan_is_made_for_rates_that_rarely_had_a_better_plan(margin, looking):
    data = views(drift=ERA)
    decider, cuts, chosen, asked = looking(data, margin)
    at = [int(cut) for cut in np.searchsorted(cuts["ts"], data.streams[0].ts[:: ERA // 6])]
    plan = chosen(in_era(data, 0))
    for cut in at[1:7]:
        assert decider.consider(plan, cut) is None
    assert len(asked) == 1
    decider.consider(plan, at[7])
    assert len(asked) == 2, "the hot page has moved"
    decider.changed(took_ns=1)
    plan = chosen(in_era(data, 1))
    for cut in at[8:13]:
        assert decider.consider(plan, cut) is None
    asked_now = len(asked)
    assert asked_now == (3 if margin < 1 else 2)
    decider.consider(plan, at[12] + 1)  # too few events to say anything
    assert len(asked) == asked_now


def test_after_some_looks_a_plan_is_made_for_like_rates_too(looking):
    data = views()
    decider, cuts, chosen, asked = looking(data)
    plan = chosen(in_era(data, 0))
    looks = np.linspace(0, len(cuts), 2 * MAX_SKIPPED + 4, dtype=np.int64)[1:]
    for number, cut in enumerate(looks):
        assert decider.consider(plan, int(cut)) is None
        assert len(asked) == 1 + number // (MAX_SKIPPED + 1)
    assert len(asked) == 3
