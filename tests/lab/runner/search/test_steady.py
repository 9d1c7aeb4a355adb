"""The verdict on steadiness of a catch-up run, on simulated rates."""

import numpy as np
import pytest

from streamlab.lab.measure.steady import (
    STEADY,
    TOO_SHORT,
    UNSTEADY,
    autocorrelation,
    change_points,
    steady_state,
    trend,
)
from tests.lab.runner.search.trials import correlated

SERIES = 300


def share_unsteady(shape, n, sd, correlation, series=SERIES):
    rng = np.random.default_rng(20)
    t = np.arange(n) / n
    verdicts = [
        steady_state(1 + shape(t) + correlated(rng, n, sd, correlation)).verdict
        for _ in range(series)
    ]
    return verdicts.count(UNSTEADY) / series


def flat(t):
    return 0 * t


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("n", "sd", "correlation", "most"),
    [
        (20, 0.02, 0.0, 0.01),
        (20, 0.02, 0.5, 0.03),
        (60, 0.02, 0.0, 0.01),
        pytest.param(60, 0.02, 0.5, 0.02, marks=pytest.mark.full),
        (60, 0.02, 0.8, 0.09),
        pytest.param(60, 0.03, 0.0, 0.01, marks=pytest.mark.full),
        (60, 0.03, 0.5, 0.06),
        pytest.param(300, 0.03, 0.0, 0.01, marks=pytest.mark.full),
        (300, 0.03, 0.5, 0.04),
    ],
)
def test_stationary_noise_is_seldom_called_unsteady(n, sd, correlation, most):
    assert share_unsteady(flat, n, sd, correlation) <= most


@pytest.mark.parametrize(
    ("shape", "least"),
    [
        pytest.param(lambda t: 0.1 * t, 0.7, id="ramp of 10 %"),
        pytest.param(lambda t: -0.2 * t, 0.98, id="ramp of -20 %"),
        pytest.param(lambda t: 0.1 * (t > 0.7), 0.9, id="step of 10 % after 70 %"),
        pytest.param(lambda t: 0.05 * (t > 0.7), 0.8, id="step of 5 % after 70 %"),
        pytest.param(lambda t: 0.1 * np.sin(10 * np.pi * t), 0.99, id="5 swings of 10 %"),
        pytest.param(lambda t: -0.5 * (t > 0.97), 0.99, id="stall at the end"),
    ],
)
def test_unsteady_series_are_found(shape, least):
    assert share_unsteady(shape, 60, 0.02, 0.0) >= least


def test_a_rise_in_the_first_third_is_left_out_of_the_tail():
    rng = np.random.default_rng(4)
    values = 1 - 0.3 * (np.arange(60) < 20) + rng.normal(size=60) * 0.01
    assert steady_state(values).verdict == STEADY


def test_differences_that_mean_nothing_are_passed_over():
    counts = np.full(60, 1_000_000.0)
    counts[40:] += 1
    assert steady_state(counts).verdict == STEADY
    assert steady_state(1_000_000 + np.arange(60.0)).verdict == STEADY


def test_fewer_than_20_points_are_too_short():
    found = steady_state(np.ones(19))
    assert (found.verdict, found.reason) == (TOO_SHORT, "19 points, below 20")


def test_a_series_of_zeros_is_not_steady():
    assert steady_state(np.zeros(60)).reason == "the mean is 0: nothing happened"


def test_an_engine_that_stops_for_good_is_not_steady():
    values = np.ones(60)
    values[25:] = 0
    found = steady_state(values)
    assert found.verdict == UNSTEADY
    assert "nothing happened" in found.reason


@pytest.mark.parametrize("mean_count", [50, 200, 1000])
def test_counting_noise_of_poisson_arrivals_is_allowed_for(mean_count):
    rng = np.random.default_rng(5)
    series = [rng.poisson(mean_count, 60).astype(float) for _ in range(SERIES)]
    verdicts = [steady_state(s, noise_sd=mean_count**0.5).verdict for s in series]
    assert verdicts.count(UNSTEADY) / SERIES <= 0.02


def test_without_the_allowance_counting_noise_would_be_called_scatter():
    rng = np.random.default_rng(5)
    assert "scatters" in steady_state(rng.poisson(100, 60).astype(float)).reason


def test_the_reason_names_value_and_bound():
    found = steady_state(1 + 0.2 * (-1.0) ** np.arange(60))
    assert found.reason == "it scatters: CV 20.2%, above 5.0%"


def test_changes_of_the_mean_are_found_where_they_are():
    rng = np.random.default_rng(6)
    values = rng.normal(size=300)
    values[100:] += 3
    values[220:] -= 2
    found = change_points(values)
    assert len(found) == 2
    assert abs(found[0] - 100) <= 3
    assert abs(found[1] - 220) <= 3


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_autocorrelation_is_estimated_across_a_change(correlation):
    rng = np.random.default_rng(7)
    found = []
    for _ in range(50):
        values = correlated(rng, 300, 1.0, correlation)
        values[150:] += 10
        found.append(autocorrelation(values))
    assert np.mean(found) == pytest.approx(correlation, abs=0.1)


@pytest.mark.parametrize(("correlation", "least"), [(0.0, 0.94), (0.5, 0.93), (0.8, 0.88)])
def test_the_slopes_interval_covers_the_truth(correlation, least):
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(SERIES):
        found = trend(0.3 * np.arange(60) + correlated(rng, 60, 1.0, correlation))
        covered += found.low <= 0.3 <= found.high
    assert covered / SERIES >= least
