"""The verdict on an offered rate, on simulated queues."""

import dataclasses

import numpy as np
import pytest

from streamlab.lab.measure.latency import Percentiles, parse_objective
from streamlab.lab.measure.load_window import window
from streamlab.lab.measure.sustained_rate import Criteria
from streamlab.results.schema import NAMES, STATUSES
from tests.lab.runner.search.trials import Queue, outcome, sent, simulate

TRIALS = 40


def share_sustained(queue, *, trials=TRIALS, **more):
    rng = np.random.default_rng(50)
    found = [simulate(queue, rng, **more).judged().sustained for _ in range(trials)]
    return sum(found) / trials


def steady_trial(rate_eps=1_000.0, latency_s=1e-4, **more):
    due = np.arange(int(rate_eps * 70)) / rate_eps
    return outcome(due, due + latency_s, length_s=70.0, warm_up_s=10.0, **more)


def percentiles(count=10_000, p99_ns=5_000_000):
    return Percentiles(
        count=count, p50_ns=1, p90_ns=1, p99_ns=p99_ns, p999_ns=None, max_ns=9_000_000
    )


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "queue",
    [
        pytest.param(Queue(utilisation=0.5), id="half busy"),
        pytest.param(Queue(utilisation=0.9), id="90 % busy"),
        pytest.param(Queue(utilisation=0.9, stalls_per_s=2.0), id="90 % busy and stalls"),
        pytest.param(Queue(utilisation=0.9, unit_s=1.5, poisson=False), id="micro-batches"),
        pytest.param(Queue(utilisation=0.5, rate_eps=100.0), id="few events"),
        pytest.param(
            Queue(utilisation=0.98, poisson=False, jitter=0.5),
            id="98 % busy, constant",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_queue_that_keeps_up_is_sustained(queue):
    assert share_sustained(queue) >= 0.95


@pytest.mark.some(1)
@pytest.mark.parametrize("poisson", [True, False])
def test_an_overload_of_one_percent_is_not_sustained(poisson):
    assert share_sustained(Queue(utilisation=1.01, poisson=poisson, rate_eps=5_000.0)) <= 0.05


def test_a_short_window_still_tells_an_overload_of_five_percent():
    quick = {"window_s": 3.0, "warm_up_s": 1.0}
    busy = Queue(utilisation=0.9, rate_eps=20_000.0)
    drowned = Queue(utilisation=1.05, rate_eps=20_000.0)
    assert share_sustained(busy, **quick) >= 0.95
    assert share_sustained(drowned, **quick) == 0.0


def test_noise_of_tiny_latencies_is_no_growth():
    rng = np.random.default_rng(51)
    trials = []
    for _ in range(TRIALS):
        trial = steady_trial()
        noisy = rng.lognormal(np.log(20_000), 0.5, size=len(trial.progress.latency_p50_ns))
        progress = dataclasses.replace(trial.progress, latency_p50_ns=noisy.astype(np.int64))
        trials.append(trial.judged(progress=progress))
    assert all(trial.sustained for trial in trials)
    # The method's literal bound on the interval's upper end would have refused some of them.
    assert max(trial.columns["latency_slope"] for trial in trials) > 0.1


def test_a_latency_that_doubles_is_growth():
    trial = steady_trial()
    grown = np.linspace(1e8, 2e8, len(trial.progress.latency_p50_ns)).astype(np.int64)
    judged = trial.judged(progress=dataclasses.replace(trial.progress, latency_p50_ns=grown))
    assert judged.status == "unsustained"
    assert judged.reasons[0].startswith("latency grows by 85.")


def test_latency_of_few_outputs_is_not_judged():
    trial = steady_trial()
    rare = np.full(len(trial.progress.latency_p50_ns), -1)
    rare[105::100] = np.arange(len(rare[105::100])) * 10**9
    judged = trial.judged(progress=dataclasses.replace(trial.progress, latency_p50_ns=rare))
    assert judged.sustained
    assert "latency_slope" not in judged.columns


def test_a_generator_that_sent_too_little_makes_the_trial_invalid_and_nothing_else():
    trial = simulate(Queue(utilisation=1.5), np.random.default_rng(1))
    judged = trial.judged(sent=sent(int(trial.events * 0.99)))
    assert (judged.status, judged.sustained) == ("invalid", None)
    assert judged.reasons[0].startswith("generator: emitted 99.00% of the due events, below 99.9%")


def test_a_generator_that_sent_late_makes_the_trial_invalid():
    trial = steady_trial()
    judged = trial.judged(sent=sent(trial.events, lag_ns=2_500_000))
    assert judged.status == "invalid"
    assert judged.reasons == ("generator: send lag p99 2.5 ms, above 1 ms",)


def test_a_load_may_allow_its_generator_more_lag_and_the_verdict_says_so():
    trial = steady_trial()
    criteria = Criteria(most_send_lag_p99_ns=3_000_000)
    judged = trial.judged(sent=sent(trial.events, lag_ns=2_500_000), criteria=criteria)
    assert (judged.status, judged.sustained) == ("ok", True)
    assert judged.reasons == ("send lag p99 up to 3 ms was allowed",)
    late = trial.judged(sent=sent(trial.events, lag_ns=3_500_000), criteria=criteria)
    assert late.reasons[0] == "generator: send lag p99 3.5 ms, above 3 ms"


def test_a_virtual_source_has_no_lag_to_judge():
    trial = steady_trial()
    empty = dataclasses.replace(
        sent(trial.events).lag, values_ns=np.array([], int), counts=np.array([], int)
    )
    virtual = dataclasses.replace(sent(trial.events), lag=empty, own_thread=False)
    assert trial.judged(sent=virtual).status == "ok"


def test_an_engine_that_does_not_report_sent_events_is_invalid():
    assert steady_trial().judged(sent=None).status == "invalid"


def test_without_progress_a_rate_is_not_shown_to_be_sustained():
    judged = steady_trial().judged(progress=None)
    assert (judged.status, judged.sustained) == ("unsteady", False)
    assert "keeps no progress" in judged.reasons[0]


def test_a_slow_drain_is_not_sustained():
    trial = steady_trial()
    judged = trial.judged(duration_ns=trial.load.end_ns + 5_500_000_000)
    assert judged.reasons == ("drain 5.50 s, above 5 s",)
    assert judged.status == "unsustained"


@pytest.mark.parametrize(
    ("latency", "status", "reason"),
    [
        (percentiles(p99_ns=9_000_000), "ok", None),
        (percentiles(p99_ns=12_000_000), "unsustained", "objective p99 <= 10 ms: it is 12 ms"),
        (
            percentiles(count=400, p99_ns=None),
            "unsteady",
            "objective p99 <= 10 ms: 400 samples are too few to say",
        ),
        (None, "unsteady", "objective p99 <= 10 ms: the engine does not stamp its outputs"),
    ],
)
def test_the_objective_is_one_more_criterion(latency, status, reason):
    judged = steady_trial().judged(latency=latency, objective=parse_objective("p99 <= 10ms"))
    assert judged.status == status
    assert judged.columns["sustained_reason"] == reason


def test_a_throughput_that_breaks_in_for_seconds_is_unsteady():
    # Idle from second 40 to 44, then all that waited at once: no growth, but no steady state.
    due = np.arange(70_000) / 1_000
    done = np.where((due > 40) & (due < 44), 44.0, due + 1e-4)
    judged = outcome(due, done, length_s=70.0, warm_up_s=10.0).judged()
    assert judged.status == "unsteady"
    assert judged.reasons == (f"no steady throughput: {judged.columns['steady_reason']}",)


def test_a_quick_verdict_says_so():
    trial = simulate(Queue(utilisation=0.5), np.random.default_rng(2), window_s=1.5, warm_up_s=0.5)
    judged = trial.judged()
    assert judged.status == "ok"
    assert judged.columns["steady"] == "too_short"
    assert judged.columns["sustained_reason"] == (
        "quick: window 1.5 s, below 60 s, warm-up 0.5 s, below 10 s, "
        "steadiness not judged: 15 points, below 20"
    )


def test_a_long_window_allows_a_tenth_of_the_backlog_growth():
    due = np.arange(31_000) / 100
    done = due * 1.005
    grown = outcome(due, done, length_s=310.0, warm_up_s=10.0)
    rows = [reason.split()[0] for reason in grown.judged().reasons]
    assert "backlog" in rows
    lenient = Criteria(long_window_s=1e9)
    rows = [reason.split()[0] for reason in grown.judged(criteria=lenient).reasons]
    assert "backlog" not in rows


def test_a_stall_that_is_still_there_at_the_end_is_not_sustained():
    due = np.arange(70_000) / 1_000
    done = np.where(due > 60, 76.0, due + 1e-4)
    judged = outcome(due, done, length_s=70.0, warm_up_s=10.0).judged()
    assert judged.status == "unsustained"
    assert any(reason.startswith("drain 6.0") for reason in judged.reasons)


def test_an_engine_that_counts_nothing_is_not_sustained():
    trial = steady_trial()
    nothing = dataclasses.replace(trial.progress, consumed=np.zeros_like(trial.progress.consumed))
    assert trial.judged(progress=nothing).status == "unsustained"


def test_all_columns_are_in_the_schema_and_all_statuses_known():
    for judged in (steady_trial().judged(), steady_trial().judged(progress=None)):
        assert set(judged.columns) <= NAMES
        assert judged.status in STATUSES


@pytest.mark.parametrize(
    ("window_s", "points", "point_s"), [(60, 60, 1.0), (3, 30, 0.1), (5, 25, 0.2)]
)
def test_points_are_seconds_or_as_many_as_make_twenty(window_s, points, point_s):
    due = np.arange(1_000 * (window_s + 1)) / 1_000
    trial = outcome(due, due + 1e-4, length_s=window_s + 1.0, warm_up_s=1.0)
    seen = window(trial.progress, trial.load)
    assert (len(seen.kept_up), seen.point_s) == (points, pytest.approx(point_s))


def test_the_warm_up_and_the_drain_are_not_in_the_window():
    due = np.arange(70_000) / 1_000
    done = np.where(due < 9, 9.0, due)
    trial = outcome(due, done, length_s=70.0, warm_up_s=10.0)
    seen = window(trial.progress, trial.load)
    assert seen.backlog_max <= 1
    assert np.allclose(seen.kept_up, 1, atol=0.002)
