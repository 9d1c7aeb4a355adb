"""Tests whether the new value of a pair tends to be larger, for pairs measured under equal conditions.

Conditions that both values share, such as a busy minute of the machine, cancel out in their ratio. An unpaired
test would count these conditions as noise.
The test is Wilcoxon's signed-rank test (1945, Biometrics Bull. 1:80).
The estimate is by Hodges and Lehmann (1963, Ann. Math. Stat. 34:598).
The interval belongs to the same test (Hollander, Wolfe and Chicken 2014, Nonparametric Statistical
Methods, section 3.3).
All three use logarithms of the ratios, and assume that the logarithms are independent and symmetric.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from streamlab.results.stats.intervals import CONFIDENCE, Interval
from streamlab.results.stats.mann_whitney import Alternative
from streamlab.results.stats.noise import Noise, noise_of

Floats = npt.NDArray[np.float64]

_MAX_MEANS = 1_000_000
"""Largest number of means in memory at once: 8 MB."""


def signed_rank(
    old: npt.ArrayLike, new: npt.ArrayLike, alternative: Alternative = "greater"
) -> float:
    """Return the exact p-value of the signed-rank test on the ratios of pairs.

    The values are above 0; equal indices are a pair. `greater`: new tends to be larger than old.
    Pairs of equal values count against the alternative: ties make the p-value too large.
    """
    means = _pairwise_means(_log_ratios(old, new))
    above, below = int(np.count_nonzero(means > 0)), int(np.count_nonzero(means < 0))
    count = {"greater": above, "less": below, "two-sided": max(above, below)}[alternative]
    chances = _upper_tail(np.size(old))
    one_sided = float(chances[count])
    return min(1.0, 2 * one_sided) if alternative == "two-sided" else one_sided


def smallest_pair_p(n_old: int, n_new: int) -> float:
    """Return the smallest one-sided p-value of n pairs, 1 / 2^n; n is the smaller number of values."""
    return float(0.5 ** min(n_old, n_new))


def pair_ratio(old: npt.ArrayLike, new: npt.ArrayLike) -> float:
    """Return the Hodges-Lehmann estimate of new / old."""
    return float(np.exp(np.median(_pairwise_means(_log_ratios(old, new)))))


def pair_interval(old: npt.ArrayLike, new: npt.ArrayLike) -> Interval | None:
    """Return the signed-rank test's interval of new / old; None with fewer than 6 pairs."""
    interval = _centre_interval(_log_ratios(old, new))
    if interval is None:
        return None
    low, high = np.exp([interval.low, interval.high])
    return Interval(low=float(low), high=float(high), coverage=interval.coverage)


def pair_difference(old: npt.ArrayLike, new: npt.ArrayLike) -> float:
    """Return the Hodges-Lehmann estimate of new - old."""
    return float(np.median(_pairwise_means(np.subtract(new, old, dtype=np.float64))))


def pair_difference_interval(old: npt.ArrayLike, new: npt.ArrayLike) -> Interval | None:
    """Return the signed-rank test's interval of new - old; None with fewer than 6 pairs."""
    return _centre_interval(np.subtract(new, old, dtype=np.float64))


def _centre_interval(values: Floats) -> Interval | None:
    """Return the interval of the centre of symmetrically distributed values; None with fewer than 6."""
    means = np.sort(_pairwise_means(values))
    chances = _upper_tail(len(values))
    # The largest k with P(at most k - 1 means below the truth) <= (1 - CONFIDENCE) / 2, where
    # P(at most k - 1) = P(at least size - k + 1) by symmetry.
    k = int(np.count_nonzero(chances[::-1] <= (1 - CONFIDENCE) / 2))
    if k == 0:
        return None
    coverage = 1 - 2 * float(chances[len(means) - k + 1])
    return Interval(low=float(means[k - 1]), high=float(means[-k]), coverage=coverage)


def pair_noise(
    old: npt.ArrayLike, new: npt.ArrayLike, rng: np.random.Generator, draws: int
) -> Noise:
    """Estimate the noise of `pair_ratio` without a change, from the pairs of one comparison.

    Draws with replacement the deviations of the logarithms from their median, each with a random sign,
    since the arms of a pair are interchangeable without a change.
    """
    logs = _log_ratios(old, new)
    n = len(logs)
    # Residuals from the pairs' own median are smaller than residuals from the true median.
    residuals = (logs - np.median(logs)) * np.sqrt(n / max(n - 1, 1))
    drawn = rng.choice(residuals, size=(draws, n)) * rng.choice([-1.0, 1.0], size=(draws, n))
    at_once = max(1, _MAX_MEANS // (n * n))
    parts = np.array_split(drawn, -(-draws // at_once))
    ratios = [np.median(_pairwise_means(part), axis=-1) for part in parts]
    return noise_of(np.exp(np.concatenate(ratios)))


def _pairwise_means(logs: Floats) -> Floats:
    """Return the means of all pairs of values, including each value with itself (Walsh averages).

    An array of shape [..., n] becomes an array of shape [..., n (n + 1) / 2].
    """
    first, second = np.triu_indices(logs.shape[-1])
    means: Floats = (logs[..., first] + logs[..., second]) / 2
    return means


@lru_cache(maxsize=16)
def _upper_tail(n: int) -> Floats:
    """Return P(T >= t) for t = 0 .. n (n + 1) / 2 when every sign is equally likely."""
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, n + 1):
        chances[rank:] = (chances[rank:] + chances[:-rank]) / 2
        chances[:rank] /= 2
    tail = np.minimum(np.cumsum(chances[::-1])[::-1], 1.0)
    tail.flags.writeable = False
    return tail


def _log_ratios(old: npt.ArrayLike, new: npt.ArrayLike) -> Floats:
    first, second = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    both = np.concatenate([first.ravel(), second.ravel()])
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ValueError(
            f"expected as many old values as new, at least one, got {old!r} and {new!r}"
        )
    if not (np.isfinite(both) & (both > 0)).all():
        raise ValueError(f"expected numbers above 0 in both arms, got {old!r} and {new!r}")
    logs: Floats = np.log(second / first)
    return logs
