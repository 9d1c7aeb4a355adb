"""Noise as benchmarks have it: log-normal, and a process in a hundred stalls."""

import numpy as np

STALLS = 0.01
LONGEST = 10.0


def factors(rng, cv, shape):
    """Factors of times around 1 in the median: coefficient of variation `cv`, plus stalls."""
    usual = np.exp(rng.normal(0.0, np.sqrt(np.log1p(cv * cv)), shape))
    stalled = rng.random(shape) < STALLS
    return np.where(stalled, usual * rng.uniform(1.5, LONGEST, shape), usual)
