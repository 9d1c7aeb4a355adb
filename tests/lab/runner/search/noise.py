"""Series of known truth."""

import numpy as np


def correlated(rng, n, sd, correlation):
    """Stationary normal noise with this first-order autocorrelation."""
    innovations = rng.normal(size=n) * sd * np.sqrt(1 - correlation**2)
    innovations[0] = rng.normal() * sd
    values = np.empty(n)
    last = 0.0
    for i, innovation in enumerate(innovations):
        values[i] = last = correlation * last + innovation
    return values
