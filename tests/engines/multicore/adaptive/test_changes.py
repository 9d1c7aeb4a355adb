"""Plans that change while a run goes on: nothing is lost, doubled or reordered."""

import random
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.dgs import run as dgs_run
from streamlab.engines.multicore.dgs.adaptive.deciders import PlanProposal, RateDecider
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.optimizers import PlanRequest, choose
from streamlab.workloads.registry import workload
from tests.engines.multicore.dgs_programs import COSTS, generated
from tests.engines.multicore.native_runs import ScriptDecider, check_native, even_load, run_native
from tests.engines.multicore.recovery.small_runs import (
    NAMES,
    check_run,
    input_of,
    kernels_of,
    program_of,
    small_run,
)

EVENTS = 6_000
WORKERS = 3
OPTIMIZERS = ("by-stream", "balanced", "appendix-b")


def random_plan(name, rng):
    """Return a plan for random rates and workers: tags occur as often as a die says."""
    data = input_of(name, EVENTS)
    dice = np.random.default_rng(rng.randrange(1 << 30))
    streams = tuple(
        replace(one, counts=np.where(one.counts > 0, dice.integers(1, 100, one.counts.shape), 0))
        for one in profile(data)
    )
    request = PlanRequest(
        program=program_of(name),
        alphabet=data.alphabet,
        streams=streams,
        workers=rng.randint(1, WORKERS),
    )
    return choose(rng.choice(OPTIMIZERS), request).plan


def scripted(name, rng, most=6):
    """Return random changes at random cuts, and how many there are at most."""
    cuts = sorted(rng.sample(range(100), rng.randint(1, most)))
    return [(cut, random_plan(name, rng)) for cut in cuts]


def run(name, script, **how):
    return check_run(name, EVENTS, workers=WORKERS, decider=ScriptDecider(script), **how)


def constant_load(name, gap_ns=300):
    return even_load(input_of(name, EVENTS), gap_ns)


@pytest.mark.some(5)
@pytest.mark.parametrize("loaded", [False, True], ids=["full speed", "load"])
@pytest.mark.parametrize("name", NAMES)
def test_plans_change_at_random_cuts_and_the_answer_does_not(name, loaded):
    rng = random.Random(f"{name} {loaded}")
    changes = 0
    for _ in range(4):
        script = scripted(name, rng)
        how = {"load": constant_load(name)} if loaded else {"batch": rng.choice([1, 16, 64])}
        how |= {"gather": rng.random() < 0.5, "handover": rng.choice(["direct", "ring"])}
        measured = run(name, script, **how)
        assert measured.events == input_of(name, EVENTS).events
        progress = measured.progress
        assert progress.emitted.sum() == progress.consumed.sum() == measured.events
        made = int(measured.counters["plan_changes"])
        assert 0 < made <= len(script)
        changes += made
        assert f"the plan changed {made} times" in measured.notices[-1]
        assert "the script's step at cut" in measured.plan
    assert changes > 4


@pytest.mark.parametrize("name", ["fraud_detection", "plugs"])
def test_with_checkpoints_outputs_are_written_once_and_a_run_goes_on(name, tmp_path):
    rng = random.Random(name)
    options = {
        "gather": False,
        "checkpoint_every": 1,
        "checkpoint_ms": 0,
        "checkpoint_folder": str(tmp_path),
    }
    script = [(cut, random_plan(name, rng)) for cut in range(3)]  # the first is not missed
    measured = run(name, script, batch=16, **options)
    assert measured.counters["plan_changes"] > 0
    assert measured.counters["checkpoints"] >= measured.counters["plan_changes"]
    max(tmp_path.glob("checkpoint-*")).unlink()
    measured = run(name, script, **options)
    assert "resumed from checkpoint" in " ".join(measured.notices)


class LooksAtCuts(RateDecider):
    """Looks at every so many cuts, and not by time: stops there, whether the plan changes or not.

    What a change takes is nothing here, and what it saves anything.
    """

    at_once = True
    every = 10

    def consider(self, plan, decided):
        """Return what is wanted, or the running plan again, to be asked again at the next stop."""
        found = super().consider(plan, decided)
        wanted.append(found)
        at = decided + self.every
        return replace(found or PlanProposal(plan=plan, why="to look again"), from_cut=at)

    def changed(self, took_ns):
        """Nothing is learnt."""


wanted = []
"""What was wanted at each look of the latest run."""


@pytest.mark.parametrize("loaded", [False, True], ids=["full speed", "load"])
@pytest.mark.parametrize("drift", [6_000, 0])
def test_the_plan_follows_the_hot_page_and_only_that(drift, loaded, monkeypatch):
    """One stream of views, whose keys are spread; costs are given, not measured."""
    monkeypatch.setattr(dgs_run, "_costs", lambda *given: COSTS)
    monkeypatch.setattr(dgs_run, "RateDecider", LooksAtCuts)
    monkeypatch.setattr("streamlab.engines.multicore.dgs.adaptive.deciders.FIRST_CHANGE_NS", 0)
    monkeypatch.setattr("streamlab.engines.multicore.dgs.adaptive.deciders.FEWEST_EVENTS", 500)
    subject = workload("page_view_join")
    given = {"streams": 1, "pages": 4, "skew": 3.0, "views_per_update": 100, "drift": drift}
    data = generated("page_view_join", 24_000, **given)
    load = even_load(data, 1_000) if loaded else None
    kernels = kernels_of("page_view_join")
    wanted.clear()
    how = {"workers": 2, "load": load, "adapt": True, "kernels": kernels}
    measured, _ = check_native("dgs", subject, data, **how)
    looks, changes = len(wanted), [one for one in wanted if one is not None]
    assert looks > 20
    assert measured.counters["plan_changes"] == looks - 1
    if drift:
        assert 3 <= len(changes) <= 6  # eras are not multiples of looks: one may see two
        assert all("ns with another plan; " in one.why for one in changes)
    else:
        assert len(changes) <= 1  # the first 1,000 events are the first look's only


def test_by_time_rates_are_looked_at_under_a_load(monkeypatch):
    """On a busy machine there may be few looks; whatever they lead to, the answer is right."""
    monkeypatch.setattr(dgs_run, "_costs", lambda *given: COSTS)
    load = constant_load("event_window", gap_ns=10_000)
    how = {"adapt": True, "adapt_ms": 1, "optimizer": "cost"}
    assert "plan_changes" in check_run("event_window", EVENTS, workers=2, load=load, **how).counters


def test_a_further_worker_costs_nothing_once_all_have_been_started(monkeypatch):
    monkeypatch.setattr(dgs_run, "_costs", lambda *given: replace(COSTS, start_ns=1e6))
    how = {"workers": 2, "adapt": True, "optimizer": "cost"}
    with closing(small_run("event_window", EVENTS, **how)) as made:
        assert made._adaptive.keywords["costs"] == replace(COSTS, start_ns=0.0)


def test_with_one_worker_nothing_is_measured_and_nothing_changes(monkeypatch):
    def never(*given):
        raise AssertionError("costs were measured")

    monkeypatch.setattr(dgs_run, "_costs", never)
    assert "plan_changes" not in check_run("event_window", EVENTS, adapt=True).counters


def test_an_optimizer_that_fails_while_the_run_goes_on_ends_it(monkeypatch):
    asked = []

    def failing(request):
        asked.append(request)
        raise ValueError("no plan today")

    monkeypatch.setattr(dgs_run, "optimizer", lambda name: failing)
    monkeypatch.setattr(dgs_run, "_costs", lambda *given: COSTS)
    monkeypatch.setattr("streamlab.engines.multicore.dgs.adaptive.deciders.FEWEST_EVENTS", 1)
    load = constant_load("event_window", gap_ns=30_000)
    with pytest.raises(EngineError, match=r"optimizer 'by-stream' failed .* ValueError: no plan"):
        check_run("event_window", EVENTS, workers=2, load=load, adapt=True, adapt_ms=1)
    assert len(asked) == 1


def test_a_fork_that_fails_at_a_change_is_named_with_its_line():
    name = "event_window"
    program, data = program_of(name), input_of(name, EVENTS)

    def fork(state, pred1, pred2, first, second):
        raise ValueError("cannot be divided")

    program = replace(program, parallel=(replace(program.parallel[0], fork=fork),))

    def plan_for(workers):
        streams = profile(data)
        request = PlanRequest(
            program=program, alphabet=data.alphabet, streams=streams, workers=workers
        )
        return choose("by-stream", request).plan

    said = r"fork function raised an exception: ValueError: cannot be divided, in .*test_changes"
    how = {
        "workers": 2,
        "gather": False,
        "plan": plan_for(1),
        "decider": ScriptDecider([(5, plan_for(2))]),
    }
    with pytest.raises(EngineCrashError, match=said):
        run_native("dgs", program, data, **how)
