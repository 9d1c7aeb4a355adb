"""Under an offered load the fake engine is a server whose capacity is known."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.fake.adapter import VIRTUAL, FakeEngine
from streamlab.engines.fake.server import FakeOptions, serve
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import CONSTANT, POISSON, LoadSpec
from streamlab.lab.measure.latency import percentiles
from streamlab.workloads.registry import workload
from tests.engines.tasks import check_task, run_task, task_of
from tests.workloads.suite.streams import generated

MS = 1_000_000
FOUND = workload("event_window")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    data = generated(FOUND, {"values_per_barrier": 2}, 60_000, 1)
    return write_dataset(data, FOUND.name, tmp_path_factory.mktemp("fake"))


@pytest.fixture
def run(dataset, tmp_path):
    """A function that offers 10,000 events/s for 5 s and returns what the fake measures."""

    def make(variant="correct", rate_eps=10_000.0, seconds=5.0, arrival=CONSTANT, **options):
        spec = LoadSpec(
            arrival=arrival, rate_eps=rate_eps, warm_up_s=0.2 * seconds, window_s=0.8 * seconds
        )
        offered = offer(spec, dataset)
        task = task_of(
            FOUND, offered.dataset, tmp_path, variant, options=options, load=offered.load
        )
        run_of = check_task if variant == "correct" else run_task
        return run_of(FakeEngine(), task)[0]

    return make


def backlog(measured):
    return np.cumsum(measured.progress.emitted - measured.progress.consumed)


def test_below_its_capacity_it_keeps_up(run):
    measured = run(capacity_eps=20_000)
    assert backlog(measured).max() <= 1
    assert percentiles(measured.latency).max_ns == pytest.approx(50_000, rel=1e-3)
    assert percentiles(measured.service_latency).max_ns == pytest.approx(50_000, rel=1e-3)


def test_above_its_capacity_the_backlog_grows_by_the_difference(run):
    measured = run(capacity_eps=8_000)
    slope = np.polyfit(np.arange(50) * 0.1, backlog(measured)[:50], 1)[0]
    assert slope == pytest.approx(2_000, rel=0.01)
    assert percentiles(measured.latency).max_ns == pytest.approx(1.25e9, rel=0.01)
    assert percentiles(measured.service_latency).max_ns == pytest.approx(125_000, rel=1e-3)


def test_poisson_arrivals_wait_as_long_as_queueing_theory_says(run):
    # Pollaczek and Khinchine, constant service: mean wait = utilisation / (1 - utilisation) / 2.
    found = run(capacity_eps=20_000, arrival=POISSON).latency
    mean_ns = np.average(found.values_ns, weights=found.counts)
    assert mean_ns == pytest.approx(1.5 * 50_000, rel=0.1)


def test_virtual_time_costs_no_time_and_says_so(run):
    """In real time this would take a day."""
    measured = run(capacity_eps=20_000, rate_eps=0.01, seconds=86_400.0)
    assert measured.plan == VIRTUAL
    assert measured.counters["virtual_end_s"] == pytest.approx(86_400.0, abs=100)


def test_in_real_time_the_load_takes_its_time_and_the_figures_are_the_same(run):
    begin = time.monotonic()
    real = run(capacity_eps=2_500, rate_eps=5_000.0, seconds=0.25, real_time=True)
    assert time.monotonic() - begin >= 0.5
    virtual = run(capacity_eps=2_500, rate_eps=5_000.0, seconds=0.25)
    assert real.plan is None
    assert np.array_equal(real.latency.values_ns, virtual.latency.values_ns)
    assert np.array_equal(real.progress.consumed, virtual.progress.consumed)


def test_a_stall_shows_in_the_latency_and_not_in_the_service_latency(run):
    measured = run(capacity_eps=100_000, stall_at_s=2.0, stall_s=0.2)
    latency, service = percentiles(measured.latency), percentiles(measured.service_latency)
    assert latency.p99_ns >= 100 * MS
    assert service.p99_ns < 1 * MS
    assert backlog(measured).max() >= 1_800


def test_a_lagging_source_says_by_how_much(run):
    measured = run(capacity_eps=100_000, generator_lag_s=0.5)
    assert measured.sent.own_thread
    assert percentiles(measured.sent.lag).p99_ns == pytest.approx(500 * MS, rel=1e-3)
    # Also those of the millisecond after the end.
    assert measured.sent.events == pytest.approx(45_010, abs=2)
    # The lag is in the latency, which counts from when an event was due.
    assert percentiles(measured.latency).p50_ns == pytest.approx(500 * MS, rel=1e-3)


def test_noise_keeps_the_capacity_and_is_decided_by_its_seed(run):
    def latencies(**options):
        return run(capacity_eps=11_000, noise=0.5, **options).latency

    first = latencies(seed=1)
    assert np.array_equal(first.counts, latencies(seed=1).counts)
    assert not np.array_equal(first.counts, latencies(seed=2).counts)
    assert first.values_ns[-1] > 200_000
    assert backlog(run(capacity_eps=11_000, noise=0.5))[49] < 100
    slope = np.polyfit(np.arange(50) * 0.1, backlog(run(capacity_eps=8_000, noise=0.5))[:50], 1)[0]
    assert slope == pytest.approx(2_000, rel=0.05)


def test_variants_fail_under_a_load_as_without_one(run):
    assert run("miscount").events == run().events - 1


GAPS = st.lists(st.integers(0, 2_000_000), min_size=1, max_size=60)


@given(GAPS, st.integers(500, 5_000), st.sampled_from([0.0, 0.7]))
def test_departures_obey_the_recursion_of_a_queue(gaps, capacity_eps, noise):
    arrive = np.cumsum(np.array(gaps, dtype=np.int64))
    options = FakeOptions(capacity_eps=float(capacity_eps), noise=noise)
    served = serve(arrive, options)
    free = 0
    for when, taken, done in zip(arrive, served.taken_ns, served.done_ns, strict=True):
        assert abs(taken - max(when, free)) <= 2
        assert done >= taken
        free = done
    if noise == 0.0:
        assert np.abs(served.done_ns - served.taken_ns - 1e9 / capacity_eps).max() <= 2


def test_a_stall_without_arrivals_has_no_effect():
    arrive = np.array([0, 100 * MS], dtype=np.int64)
    served = serve(arrive, FakeOptions(capacity_eps=1_000.0, stall_at_s=0.01, stall_s=0.05))
    assert served.taken_ns.tolist() == arrive.tolist()
    served = serve(arrive, FakeOptions(capacity_eps=1_000.0, stall_at_s=0.06, stall_s=0.05))
    assert (served.done_ns // MS).tolist() == [1, 111]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 5}, "correct of fake has no option 'capacity'; did you mean capacity_eps"),
        ({"capacity_eps": 0}, "option capacity_eps is 0; it must be a number above 0"),
        ({"capacity_eps": True}, "option capacity_eps is True; it must be a number above 0"),
        ({"noise": -1}, "option noise is -1; it must be a number of at least 0"),
        ({"stall_s": float("inf")}, "option stall_s is inf"),
        ({"seed": 1.5}, "option seed is 1.5; it must be a whole number"),
        ({"real_time": 1}, "option real_time is 1; it must be true or false"),
        ({"plan": 1}, "option plan is 1; it must be a text"),
    ],
)
def test_bad_options_are_unsupported_with_a_reason(dataset, tmp_path, options, message):
    task = task_of(FOUND, dataset, tmp_path, "correct", options=options)
    with pytest.raises(UnsupportedError, match=message):
        FakeEngine().prepare(task)
