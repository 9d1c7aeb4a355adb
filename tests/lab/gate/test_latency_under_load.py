"""A sleep of 1 ms on 1 % of the events, met by a server with one queue at equal due times."""

import re

import numpy as np
import pytest

from streamlab.engines.protocol import OfferedLoad
from streamlab.engines.recording import OpenRun, measured
from streamlab.lab.gate.decision import GateCriteria, decide_gate
from streamlab.lab.gate.metrics import METRICS, Pair, TrialResult
from streamlab.lab.gate.outcome import Verdict
from streamlab.lab.measure.latency import percentiles
from streamlab.results.stats.decision import TWO_STAGE

EVENTS, RATE_EPS = 10_000, 5_000
DUE_NS = (np.arange(EVENTS) * (1_000_000_000 // RATE_EPS)).astype(np.int64)
LOAD = OfferedLoad(
    due_ns=(DUE_NS,),
    heartbeat_ts=(np.empty(0, np.int64),),
    heartbeat_due_ns=(np.empty(0, np.int64),),
    warm_up_ns=0,
    end_ns=int(DUE_NS[-1]),
)


def trial(rng, *, sleeps, busy):
    """A row of a trial: services of 20 us in the mean, and pauses of the machine of up to 2 ms."""
    service = rng.lognormal(np.log(20_000), 0.5, EVENTS)
    paused = rng.random(EVENTS) < busy
    service[paused] += rng.uniform(0, 2_000_000, paused.sum())
    if sleeps:
        service[::100] += 1_000_000
    # Lindley's recursion, as a running maximum.
    work = np.cumsum(service)
    done = (work + np.maximum.accumulate(DUE_NS - (work - service))).astype(np.int64)
    run = OpenRun(due_ns=DUE_NS, taken_ns=DUE_NS, done_ns=done, made_by=np.arange(EVENTS))
    latency = percentiles(measured(run, LOAD).latency)
    times = {"events": EVENTS, "duration_s": float(rng.normal(2.0, 0.005))}
    return TrialResult(status="ok", latency_p99_ns=latency.p99_ns, **times)


def gated(rng, *, sleeps, busy):
    """The line on p99 of two revisions whose trials ran in pairs."""

    def pairs(cells=()):
        old, new = [], []
        for _ in range(TWO_STAGE.n):
            minute = busy * rng.uniform(0.5, 1.5)  # both trials of a pair meet the same
            old.append(trial(rng, sleeps=False, busy=minute))
            new.append(trial(rng, sleeps=sleeps, busy=minute))
        return {"a/cell": Pair(old=old, new=new, same_load=True)}

    metrics = [METRICS["wall"], METRICS["p99"]]
    criteria = GateCriteria(
        metrics=metrics,
        advisory=frozenset(),
        if_repeatable=frozenset({"p99"}),
        rule=TWO_STAGE,
    )
    wall, p99 = decide_gate(pairs(), pairs, criteria)
    assert wall.word is Verdict.UNCHANGED
    return p99


@pytest.mark.parametrize("busy", [0.0, 0.002])
def test_a_sleep_of_a_millisecond_on_one_event_in_a_hundred_is_seen(busy):
    rng = np.random.default_rng(1)
    found = [gated(rng, sleeps=True, busy=busy) for _ in range(2)]
    assert [line.word for line in found] == [Verdict.REGRESSION] * 2
    assert all(line.paired and line.interval.low > 1.05 for line in found)
    assert all(re.search(r"difference \+[\d.]+ ms \(95%: \+[\d.]+ to \+", e.note) for e in found)


@pytest.mark.parametrize("busy", [0.0, 0.002])
def test_a_revision_against_itself_is_not_called(busy):
    rng = np.random.default_rng(2)
    found = [gated(rng, sleeps=False, busy=busy) for _ in range(2)]
    assert not any(line.fails or line.doubtful for line in found)


def test_noise_that_hides_the_sleep_is_named_and_never_passes_as_unchanged():
    rng = np.random.default_rng(3)
    line = gated(rng, sleeps=True, busy=0.05)
    assert line.word in (Verdict.NOT_GATED, Verdict.REGRESSION)
