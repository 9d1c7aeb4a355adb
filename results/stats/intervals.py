"""Computes confidence intervals of medians and of ratios of medians."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special

CONFIDENCE = 0.95
DRAWS = 1999
"""Number of resamples; odd, so that the percentiles of a 95 % interval are resamples."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval.

    Attributes:
        low, high: the ends, inclusive.
        coverage: probability that such an interval contains the truth: exact for order statistics,
            nominal for a bootstrap.
    """

    low: float
    high: float
    coverage: float


def median_interval(values: npt.ArrayLike) -> Interval | None:
    """Return the exact order-statistic interval of the median of one or more finite numbers.

    The interval is [x(k), x(n+1-k)] with the largest k whose coverage, 1 - 2 P(Binomial(n, 1/2) < k), is
    at least CONFIDENCE. Assumes independent values from a continuous distribution of any shape; ties only
    raise the coverage. None with fewer than 6 values.
    """
    ordered = np.sort(_check(values))
    n = len(ordered)
    k = order_rank(n, (1 - CONFIDENCE) / 2)
    if k == 0:
        return None
    coverage = 1 - 2 * float(special.bdtr(k - 1, n, 0.5))
    return Interval(low=float(ordered[k - 1]), high=float(ordered[n - k]), coverage=coverage)


def order_rank(n: int, alpha: float) -> int:
    """Return the largest k for which x(k) of n ordered values exceeds the median with probability at most `alpha`.

    P(x(k) > median) = P(x(n+1-k) < median) = P(Binomial(n, 1/2) < k). Returns 0 if no k qualifies.
    """
    below = special.bdtr(np.arange(n // 2), n, 0.5)
    return int(np.searchsorted(below, alpha, side="right"))


def ratio_interval(
    old: npt.ArrayLike, new: npt.ArrayLike, rng: np.random.Generator
) -> Interval | None:
    """Return a bootstrap interval of median(new) / median(old): BCa on the logarithm.

    With too few different values BCa is undefined, and the result is the percentile interval.
    If all values of an arm are equal, the interval ignores the noise of this arm, as any bootstrap does.

    The values are above 0, one per process. None if an arm has fewer than 3 values, too few to resample.
    `rng` draws the resamples; equal states give equal intervals.
    """
    first, second = _check(old, positive=True), _check(new, positive=True)
    if min(len(first), len(second)) < 3:
        return None
    ends = _bootstrap(first, second, rng, "BCa")
    if not np.isfinite(ends).all():
        ends = _bootstrap(first, second, rng, "percentile")
    low, high = np.exp(ends)
    return Interval(low=float(low), high=float(high), coverage=CONFIDENCE)


def ratio_of_medians(old: npt.ArrayLike, new: npt.ArrayLike) -> float:
    """Return median(new) / median(old) of values above 0."""
    return float(np.median(_check(new, positive=True)) / np.median(_check(old, positive=True)))


def _bootstrap(
    old: Floats, new: Floats, rng: np.random.Generator, method: Literal["BCa", "percentile"]
) -> Floats:
    from scipy import stats  # takes half a second, which most commands avoid

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A degenerate bootstrap returns NaN, which the caller checks.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result: Any = stats.bootstrap(
            (old, new),
            _log_ratio,
            n_resamples=DRAWS,
            confidence_level=CONFIDENCE,
            method=method,
            rng=rng,
        )
    return np.array(result.confidence_interval)


def _log_ratio(old: Floats, new: Floats, axis: int = -1) -> Floats:
    ratio = np.median(new, axis=axis) / np.median(old, axis=axis)
    return np.asarray(np.log(ratio))


def _check(values: npt.ArrayLike, *, positive: bool = False) -> Floats:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(f"expected a list of at least one finite number, got {values!r}")
    if positive and (numbers <= 0).any():
        raise ValueError(f"expected numbers above 0, got {float(numbers.min())!r}")
    return numbers
