"""Costs for plans: what is measured is what steps cost, and what a run does with it."""

from dataclasses import replace

import pytest

from streamlab.engines.multicore.dgs import run as dgs_run
from streamlab.engines.multicore.dgs.costs import FIRST_EVENTS, measure_costs
from streamlab.engines.multicore.dgs.run import plan_costs
from streamlab.engines.multicore.run.settings import LOAD_RING_BLOCKS
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.optimizers import Costs, names
from streamlab.workloads.optimizers.prediction import predict
from streamlab.workloads.registry import workload
from tests.engines.multicore.dgs_programs import generated
from tests.engines.multicore.native_runs import check_native, even_load, run_native

TRUE = Costs(
    update_ns=2,
    order_ns=90,
    fork_join_ns=70,
    handover_ns=300,
    skip_ns=1.5,
    start_ns=0,
    cores=2,
)


class Machine:
    """Takes exactly what the true costs say; slower each fifth time, as with other work on it."""

    def __init__(self, true: Costs = TRUE) -> None:
        self.true = true
        self.runs = 0
        self.events: list[int] = []

    def timed(self, plan: Plan, data: Input) -> float:
        self.runs += 1
        self.events.append(data.events)
        slowed = 5 if self.runs % 5 == 0 else 1
        return slowed * predict(plan, profile(data), self.true).duration_ns


@pytest.mark.parametrize(
    ("name", "events", "params", "skip_ns", "rel"),
    [
        ("event_window", 300_000, {"values_per_barrier": 1_000}, 0, 0.05),  # no keys to pass over
        ("event_window", 300_000, {"values_per_barrier": 50}, 0, 0.05),
        ("page_view_join", 200_000, {"pages": 50, "views_per_update": 40}, TRUE.skip_ns, 0.2),
    ],
    ids=["unkeyed", "many barriers", "keyed"],
)
def test_measured_costs_are_the_true_ones(name, events, params, skip_ns, rel):
    data = generated(name, events, **params)
    found = measure_costs(workload(name).program, data, Machine().timed, 2)
    assert found.skip_ns == pytest.approx(skip_ns, rel=rel)
    for cost in ("update_ns", "order_ns", "fork_join_ns", "handover_ns"):
        assert getattr(found, cost) == pytest.approx(getattr(TRUE, cost), rel=rel), cost
    assert found.cores == 2


def test_the_start_of_a_run_is_no_cost_of_its_events():
    data, machine = generated("event_window", 300_000, values_per_barrier=1_000), Machine()
    program = workload("event_window").program
    found = measure_costs(program, data, lambda *run: 5e4 + machine.timed(*run), 2)
    for name in ("update_ns", "fork_join_ns", "handover_ns"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.05)


def test_the_meeting_of_two_workers_costs_no_less_than_one_worker_for_both():
    """One that has both leaves goes from one's input to the other's, here for 500 ns each time."""
    data = generated("event_window", 300_000, values_per_barrier=1_000)

    def timed(plan: Plan, part: Input) -> float:
        both = replace(TRUE, fork_join_ns=570) if plan.workers == 1 else TRUE
        return predict(plan, profile(part), both).duration_ns

    found = measure_costs(workload("event_window").program, data, timed, 2)
    met_ns = TRUE.fork_join_ns + TRUE.handover_ns
    assert found.fork_join_ns + found.handover_ns == pytest.approx(met_ns, rel=0.05)


def test_measured_costs_are_the_true_ones_of_a_program_across_keys():
    data = generated("smart_home", 100_000, houses=4, period_s=120)
    machine = Machine(replace(TRUE, cross_ns=40))
    found = measure_costs(workload("smart_home").program, data, machine.timed, 2)
    assert found.update_ns == pytest.approx(TRUE.update_ns, rel=0.05)
    assert found.cross_ns == pytest.approx(40, rel=0.05)
    # No tree has a fork: whoever meets, meets above them.
    met_ns = TRUE.fork_join_ns + TRUE.handover_ns
    assert found.fork_join_ns + found.handover_ns == pytest.approx(met_ns, rel=0.05)


def test_a_long_input_is_sampled_and_a_slow_program_little():
    data = generated("event_window", 3_000_000)
    quick, slow = Machine(), Machine()
    measure_costs(workload("event_window").program, data, quick.timed, 2)
    assert FIRST_EVENTS < max(quick.events) < 2_500_000
    measure_costs(
        workload("event_window").program,
        data,
        lambda plan, part: 10_000 * slow.timed(plan, part),
        2,
    )
    assert max(slow.events) < 2 * FIRST_EVENTS


def test_where_each_hand_over_is_a_slice_of_the_scheduler_little_is_run():
    data, runs = generated("event_window", 100_000, values_per_barrier=10), []

    def timed(plan: Plan, part: Input) -> float:
        runs.append(predict(plan, profile(part), replace(TRUE, handover_ns=3e6)).duration_ns)
        return runs[-1]

    found = measure_costs(workload("event_window").program, data, timed, 2)
    assert found.handover_ns == pytest.approx(3e6, rel=0.05)
    assert sum(runs) < 4e9


@pytest.mark.parametrize("events", [0, 1, 40])
def test_an_input_of_few_events_has_costs(events):
    subject = workload("event_window")
    data = generated("event_window", events, values_per_barrier=10)
    costs = measure_costs(subject.program, data, Machine().timed, 2)
    assert costs.update_ns >= 0


@pytest.mark.parametrize("optimizer", names())
@pytest.mark.parametrize("name", ["event_window", "page_view_join"])
def test_every_optimizers_plans_run_and_give_the_oracles_answer(name, optimizer):
    subject = workload(name)
    data = generated(name, 60_000, streams=3, **({"pages": 9} if name != "event_window" else {}))
    measured, _ = check_native("dgs", subject, data, workers=4, optimizer=optimizer)
    assert 1 <= measured.counters["workers_used"] <= 4


def test_workers_beyond_the_plan_are_not_started_and_reported(monkeypatch):
    """With a barrier for each value, one worker is quicker by the costs of an ordinary machine."""
    monkeypatch.setattr(dgs_run, "measure_costs", lambda *_: TRUE)
    subject = workload("event_window")
    data = generated("event_window", 200_000, values_per_barrier=1)
    measured, _ = run_native("dgs", subject.program, data, workers=2, optimizer="cost")
    assert measured.counters["workers_used"] == 1
    assert measured.counters["synchronizations"] == 0
    assert "1 of 2 workers" in measured.notices[0]
    assert "chosen: 1 worker; it uses 1 of 2 workers" in measured.plan


def test_a_plan_for_all_workers_says_nothing():
    subject = workload("event_window")
    measured, _ = run_native("dgs", subject.program, generated("event_window", 1_000), workers=2)
    assert measured.notices == ()
    assert measured.counters["workers_used"] == 2


def test_costs_of_a_plan_that_is_only_shown_are_measured():
    subject = workload("fraud_detection")
    costs = plan_costs(subject.program, generated("fraud_detection", 100_000), 2)
    assert costs.update_ns > 0
    assert costs.cores >= 1


def test_under_a_load_costs_are_measured_at_full_speed_and_the_load_stays():
    subject = workload("event_window")
    data = generated("event_window", 30_000, values_per_barrier=10)
    how = {"workers": 2, "batch": 64, "ring_blocks": LOAD_RING_BLOCKS, "optimizer": "cost"}
    measured, _ = check_native("dgs", subject, data, load=even_load(data, 300), **how)
    assert measured.sent is not None
    assert measured.sent.lag.counts.sum() == data.events
