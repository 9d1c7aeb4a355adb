"""When another plan is worth a change, by given rates and costs."""

from dataclasses import replace

import numpy as np
import pytest

from engines.multicore.dgs.adaptive.decision import FEWEST_EVENTS, Patience, better, same
from engines.multicore.dgs.adaptive.rates import MOST_SAMPLED, measured_rates
from tests.workloads.suite.streams import generated
from workloads.model import Alphabet
from workloads.model.profile import profile
from workloads.optimizers import Costs, PlanRequest, choose
from workloads.registry import workload

COSTS = Costs(
    update_ns=4, order_ns=60, fork_join_ns=50, handover_ns=100, skip_ns=0.3, start_ns=0, cores=2
)
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
    return measured_rates(data, begins, ends, profile(data))


def views(**given):
    params = {"streams": 1, "pages": 8, "skew": 2.0, "views_per_update": 1000, **given}
    return generated(workload("page_view_join"), params, 4 * ERA, 1)


def wanted(plan, rates, chosen, *, margin=0.1, period_ns=100 * MS):
    return better(plan, rates, chosen=chosen, costs=COSTS, margin=margin, period_ns=period_ns)


@pytest.mark.parametrize("optimizer", ["by-stream", "balanced", "cost"])
def test_a_hot_page_that_moves_changes_the_plan_and_one_that_stays_does_not(optimizer):
    moving, staying = views(drift=ERA), views()
    chosen = chooser("page_view_join", moving, optimizer)
    first = chosen(in_era(moving, 0))
    found = wanted(first, in_era(moving, 1), chosen)
    assert found is not None
    assert not same(found.plan, first)
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
        return measured_rates(data, [0] * 5, [*ends, era // 1000], profile(data))

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
    few = [replace(one, counts=one.counts * 100 // rates[0].events) for one in rates]
    assert sum(one.events for one in few) < FEWEST_EVENTS
    assert wanted(first, few, chosen) is None


def test_a_change_is_made_once_as_much_was_missed_as_it_takes_and_no_sooner():
    data = views(drift=ERA)
    chosen = chooser("page_view_join", data, "balanced")
    found = wanted(chosen(in_era(data, 0)), in_era(data, 1), chosen)
    patience, change_ns = Patience(), 2.5 * found.saved_ns
    assert patience.worth(found, change_ns) is None
    assert patience.worth(found, change_ns) is None
    made = patience.worth(found, change_ns)
    assert made.plan is found.plan
    assert "were missed, and to change takes" in made.why
    # It begins anew after a change, and where the running plan is the better one again.
    assert patience.worth(found, 1.5 * found.saved_ns) is None
    assert patience.worth(None, change_ns) is None
    assert patience.worth(found, 1.5 * found.saved_ns) is None
    assert patience.worth(found, 1.5 * found.saved_ns) is not None


def test_rates_are_sampled_where_there_are_many_events_and_leave_no_tag_out():
    data = views(drift=ERA)
    ends = [len(stream) for stream in data.streams]
    whole = profile(data)
    found = measured_rates(data, [0] * len(ends), ends, whole)
    assert ends[0] > 2 * MOST_SAMPLED
    for got, exact in zip(found, whole, strict=True):
        assert abs(got.events - exact.events) < 0.01 * exact.events + 8
        assert np.array_equal(got.counts > 0, exact.counts > 0)
    nothing = measured_rates(data, ends, ends, whole)
    assert [one.counts.max() for one in nothing] == [1, 1]
