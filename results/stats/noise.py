"""Estimates A/A noise: the difference between two arms that measure the same thing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DRAWS = 1000
"""Number of resamples for an estimate of noise."""

UNSTABLE_ABOVE = 0.05
"""A cell whose A/A differences exceed this in one of 20 cases is too noisy to show a change of 5 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How far A/A ratios lie from 1.

    Attributes:
        mad: median absolute deviation of the ratios from 1, the ratio without noise.
        p95: 95th percentile of the absolute deviation from 1.
    """

    mad: float
    p95: float

    def is_unstable(self, above: float = UNSTABLE_ABOVE) -> bool:
        """Return whether the noise hides changes of the share `above`."""
        return self.p95 > above


def noise_of(ratios: npt.ArrayLike) -> Noise:
    """Return the noise of one or more measured A/A ratios, each above 0."""
    deviations = np.abs(np.asarray(ratios, dtype=np.float64) - 1)
    if deviations.size == 0 or not np.isfinite(deviations).all():
        raise ValueError(f"expected finite A/A ratios, got {ratios!r}")
    return Noise(mad=float(np.median(deviations)), p95=float(np.quantile(deviations, 0.95)))


def resampled_noise(
    arms: Sequence[npt.ArrayLike], n: int, rng: np.random.Generator, draws: int = DRAWS
) -> Noise:
    """Estimate, from the arms of one comparison, the noise of the ratio of two medians of `n` values.

    Divides each arm by its own median, so that a difference between the arms does not count.
    Then draws two A arms of `n` values from all values with replacement, `draws` times.
    The estimate excludes noise between hosts or days, which only A/A runs on several hosts or days show.

    The arms have values above 0, at least 2 in all.
    """
    residuals = []
    for values in arms:
        arm = np.asarray(values, dtype=np.float64)
        if not (np.isfinite(arm) & (arm > 0)).all():
            raise ValueError(f"expected numbers above 0, got {values!r}")
        # Residuals from an arm's own median are smaller than residuals from the true median.
        shrunk = np.sqrt(len(arm) / max(len(arm) - 1, 1))
        residuals.append(np.log(arm / np.median(arm)) * shrunk)
    pooled = np.concatenate(residuals)
    drawn = np.median(rng.choice(pooled, size=(2, draws, n)), axis=2)
    return noise_of(np.exp(drawn[0] - drawn[1]))
