"""Tests whether a series reaches a steady state, and finds where.

Three tests, in this order, on the points of a measuring window:

1. Last change of the mean: optimal partitioning into segments of constant mean, after removing the
   first-order autocorrelation. The *tail* after the last change must be at least half of the window.
2. Scatter: the tail's coefficient of variation must be at most 5 %, or the level of counting noise.
3. Drift: the confidence interval of the tail's Theil-Sen slope must contain 0, or the drift over the tail must be
   negligible.

Changes and drifts below `negligible` of the mean are ignored: with a million events, tiny differences are significant
but irrelevant.
Limits: oscillations faster than a point average out, and a change in the last few points looks like noise.
docs/method.md has the bounds and the measured error rates.

Sources: segmentation by Jackson et al. 2005 (optimal partitioning) with the penalty of Yao 1988 (BIC); autocorrelation
robust to changes of the mean by Chakar et al. 2017.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

STEADY = "steady"
UNSTEADY = "unsteady"
TOO_SHORT = "too_short"

# Converts the median absolute deviation of normal noise to a standard deviation.
_MAD_TO_SD = 1.4826
# In a window of 60 points, a stronger correlation looks like a drift.
_STRONGEST_CORRELATION = 0.9
# A change must exceed this many standard errors: 2 would do for a fixed place, but the place was searched for.
_CHANGE_Z = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyCriteria:
    """Criteria of a steady series.

    Attributes:
        fewest_points: fewest points for a verdict.
        least_share: smallest share of the window that the tail must cover.
        most_cv: bound on standard deviation / mean of the tail.
        negligible: changes and drifts below this share of the mean are ignored. The share equals the
            tolerance of a search for a rate, which cannot resolve smaller changes either.
        confidence: confidence of the slope's interval.
        shortest_segment: fewest points of a segment of constant mean.
    """

    fewest_points: int = 20
    least_share: float = 0.5
    most_cv: float = 0.05
    negligible: float = 0.02
    confidence: float = 0.95
    shortest_segment: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """The verdict on one series.

    Attributes:
        reason: the failed test with value and bound; None if steady.
    """

    verdict: str
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A Theil-Sen slope, per point, with its two-sided confidence interval."""

    slope: float
    low: float
    high: float


def steady_state(
    values: FloatArray, *, noise_sd: float = 0.0, criteria: SteadyCriteria | None = None
) -> Steadiness:
    """Judge whether a series, equally spaced in time, is steady.

    `noise_sd` is the standard deviation of a point from counting alone, in the unit of `values`: sqrt(m) for
    Poisson arrivals of m events a point. The bound on the coefficient of variation is
    hypot(most_cv, noise_sd / mean), with the noise widened for the sample size.
    """
    rules = criteria or SteadyCriteria()
    n = len(values)
    if n < rules.fewest_points:
        reason = f"{n} points, below {rules.fewest_points}"
        return Steadiness(verdict=TOO_SHORT, reason=reason)
    mean = float(np.mean(values))
    if not math.isfinite(mean) or mean == 0:
        reason = f"the mean is {mean:g}: nothing happened"
        return Steadiness(verdict=UNSTEADY, reason=reason)
    start = _find_tail(values, rules)
    failed_test = _find_failed_test(values[start:], n, noise_sd, rules)
    return Steadiness(verdict=STEADY if failed_test is None else UNSTEADY, reason=failed_test)


def _find_failed_test(
    tail: FloatArray, n: int, noise_sd: float, rules: SteadyCriteria
) -> str | None:
    share = len(tail) / n
    if share < rules.least_share:
        return (
            f"the mean changed: it held for only {share:.0%} of the window, "
            f"below {rules.least_share:.0%}"
        )
    mean = abs(float(np.mean(tail)))
    if mean == 0:
        return "the mean is 0 since its last change: nothing happened"
    cv = float(np.std(tail, ddof=1)) / mean
    # The noise of n points has a relative standard error of 1 / sqrt(2 n); allow 3 of them.
    most_cv = math.hypot(rules.most_cv, noise_sd / mean * (1 + 3 / math.sqrt(2 * len(tail))))
    if cv > most_cv:
        return f"it scatters: CV {cv:.1%}, above {most_cv:.1%}"
    drift = trend(tail, confidence=rules.confidence)
    change, low, high = (s * len(tail) / mean for s in (drift.slope, drift.low, drift.high))
    if low > rules.negligible or high < -rules.negligible:
        return (
            f"it drifts: by {change:+.1%} over the window, interval [{low:+.1%}, {high:+.1%}], "
            f"all of it beyond {rules.negligible:.1%}"
        )
    return None


def change_points(values: FloatArray, *, shortest_segment: int = 5) -> tuple[int, ...]:
    """Return the indices at which the mean changes: the start of every segment except the first.

    Minimises exactly, in O(n^2), the squared error around segment means plus 3 sd^2 ln(n) for each change.
    BIC has 2 ln(n), for the mean and the place of a change; the third ln(n) is for choosing among all places
    (Zhang and Siegmund 2007).
    """
    correlation = autocorrelation(values)
    # The innovations x[t] - c x[t-1] change where the series does; the first point has no predecessor.
    innovations = np.empty(len(values))
    innovations[1:] = values[1:] - correlation * values[:-1]
    innovations[0] = values[0] * (1 - correlation)
    n = len(innovations)
    if n < 2 * shortest_segment:
        return ()
    steps = np.abs(np.diff(innovations))
    variance = float(_MAD_TO_SD * np.median(steps)) ** 2 / 2
    # The median step of an almost constant series is 0; without a floor, rounding errors would decide.
    variance = max(variance, float(np.mean(np.square(steps))) * 1e-6, 1e-30)
    penalty = 3 * variance * math.log(n)
    centred = innovations - np.mean(innovations)
    sums = np.concatenate(([0.0], np.cumsum(centred)))
    squares = np.concatenate(([0.0], np.cumsum(np.square(centred))))
    cost = np.full(n + 1, np.inf)
    cost[0] = -penalty
    previous = np.zeros(n + 1, dtype=np.int64)
    for end in range(shortest_segment, n + 1):
        starts = np.arange(0, end - shortest_segment + 1)
        error = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        total = cost[starts] + error + penalty
        best = int(np.argmin(total))
        cost[end], previous[end] = total[best], best
    changes: list[int] = []
    end = n
    while (end := int(previous[end])) > 0:
        changes.append(end)
    return tuple(reversed(changes))


def autocorrelation(values: FloatArray) -> float:
    """Estimate the first-order autocorrelation of the noise around a mean that may change.

    Uses the median steps over one and two points, which a few changes do not affect.
    The result is between 0 and 0.9.
    A negative correlation counts as 0, which finds fewer changes. It occurs if a point makes up for counts that the
    previous point lacks.
    """
    if len(values) < 4:
        return 0.0
    step_1 = float(np.median(np.abs(values[1:] - values[:-1])))
    step_2 = float(np.median(np.abs(values[2:] - values[:-2])))
    if step_1 == 0:
        return 0.0
    return min(max((step_2 / step_1) ** 2 - 1, 0.0), _STRONGEST_CORRELATION)


def trend(
    values: FloatArray, *, positions: FloatArray | None = None, confidence: float = 0.95
) -> Trend:
    """Return the Theil-Sen slope of a series of two or more values, per point, with its confidence interval.

    `positions` are ascending; None: 0, 1, ..., n - 1.
    The textbook interval assumes independent points.
    This interval is wider by sqrt((1 + c) / (1 - c)), with c the first-order autocorrelation around the slope.
    The standard error of a slope in a long series grows by the same factor.
    Short series underestimate c, so 3 / n is added.
    """
    from scipy.stats import theilslopes

    n = len(values)
    xs = np.arange(n, dtype=np.float64) if positions is None else positions
    fit = theilslopes(values, xs, alpha=confidence)
    slope, low, high = float(fit.slope), float(fit.low_slope), float(fit.high_slope)
    residuals = values - slope * xs
    residuals = residuals - np.mean(residuals)
    square_sum = float(np.dot(residuals, residuals))
    if square_sum == 0:
        return Trend(slope=slope, low=low, high=high)
    estimate = float(np.dot(residuals[1:], residuals[:-1])) / square_sum
    correlation = min(max(estimate + 3 / n, 0.0), _STRONGEST_CORRELATION)
    widen = math.sqrt((1 + correlation) / (1 - correlation))
    width_below, width_above = widen * (slope - low), widen * (high - slope)
    return Trend(slope=slope, low=slope - width_below, high=slope + width_above)


def _find_tail(values: FloatArray, rules: SteadyCriteria) -> int:
    """Return the first index of the tail: after the last significant change of the mean.

    A change is significant if it exceeds `negligible` by more than _CHANGE_Z standard errors of both means, widened
    for correlation.
    """
    n = len(values)
    starts = (0, *change_points(values, shortest_segment=rules.shortest_segment), n)
    segments = list(pairwise(starts))
    level = np.concatenate([np.full(e - b, np.mean(values[b:e])) for b, e in segments])
    freedom = max(n - len(segments), 1)
    variance = float(np.sum(np.square(values - level))) / freedom
    correlation = min(autocorrelation(values) + 3 / n, _STRONGEST_CORRELATION)
    variance *= (1 + correlation) / (1 - correlation)
    start = segments[-1][0]
    for begin, end in reversed(segments[:-1]):
        tail_mean = float(np.mean(values[start:]))
        change = abs(float(np.mean(values[begin:end])) - tail_mean)
        error = math.sqrt(variance * (1 / (end - begin) + 1 / (n - start)))
        if change - _CHANGE_Z * error > rules.negligible * abs(tail_mean):
            break
        start = begin
    return start
