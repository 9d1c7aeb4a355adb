"""The universal scalability law: known numbers are found again, and noise widens the intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.results.stats.scalability import fit_scalability, predicted_eps

COUNTS = (1, 2, 4, 8, 16)


def rates(rate_eps, contention, coherence, *, counts=COUNTS, noise=0.0, n=5, seed=0):
    random = np.random.default_rng(seed)
    law = predicted_eps(np.array(counts, float), rate_eps, contention, coherence)
    factors = random.lognormal(0, noise, (len(counts), n))
    return {count: list(x * f) for count, x, f in zip(counts, law, factors, strict=True)}


@given(
    st.floats(1e3, 1e9),
    st.floats(0, 1, allow_subnormal=False),
    st.floats(0, 0.1, allow_subnormal=False),
)
def test_the_numbers_of_a_law_are_found_again(rate_eps, contention, coherence):
    found = fit_scalability(rates(rate_eps, contention, coherence, n=1))
    assert found.rate_eps.value == pytest.approx(rate_eps, rel=1e-6)
    assert found.contention.value == pytest.approx(contention, abs=1e-6)
    assert found.coherence.value == pytest.approx(coherence, abs=1e-6)
    assert found.worst_error < 1e-6


def test_intervals_hold_the_truth_in_most_experiments():
    held = [0, 0]
    for seed in range(20):
        found = fit_scalability(rates(1e6, 0.05, 0.002, noise=0.03, n=7, seed=seed))
        held[0] += found.contention.low <= 0.05 <= found.contention.high
        held[1] += found.rate_eps.low <= 1e6 <= found.rate_eps.high
    assert min(held) >= 16  # 95 % are promised; a bootstrap of seven medians gives a little less


def test_at_the_peak_one_more_worker_costs_as_much_as_it_gains():
    found = fit_scalability(rates(1e6, 0.1, 0.01))
    assert found.peak_workers.value == pytest.approx(math.sqrt(0.9 / 0.01), rel=1e-3)
    assert fit_scalability(rates(1e6, 0.1, 0)).peak_workers.value > 1e3


def test_linear_scaling_has_neither_contention_nor_a_peak():
    found = fit_scalability(rates(1e6, 0, 0))
    assert found.contention.value == pytest.approx(0, abs=1e-9)
    assert found.coherence.value == pytest.approx(0, abs=1e-9)


def test_rates_that_the_law_cannot_explain_have_a_large_error():
    odd = rates(1e6, 0.05, 0)
    odd[4] = [rate / 3 for rate in odd[4]]
    assert fit_scalability(odd).worst_error > 0.3


@pytest.mark.parametrize("counts", [(1,), (1, 2), (1, 2, 4)])
def test_fewer_than_four_numbers_of_workers_are_not_fitted(counts):
    assert fit_scalability(rates(1e6, 0.1, 0.01, counts=counts)) is None
