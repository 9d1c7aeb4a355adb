"""Fits the universal scalability law to rates X(n) at several numbers n of workers.

    X(n) = rate_eps n / (1 + contention (n - 1) + coherence n (n - 1))

`contention` is the serial share of the work (Amdahl), and `coherence` the cost of each pair of
workers that exchange data (N. Gunther, Guerrilla Capacity Planning, 2007, chapter 4).
Divided by X, the law is linear in three parameters that are never negative. So non-negative least squares on
relative errors fits the parameters without a starting point.
Intervals are percentiles of a bootstrap over the processes at each number of workers.
The intervals cover the noise of the processes; `worst_error` shows how well the law fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

FEWEST_COUNTS = 4
"""Fewest different numbers of workers: one more than the parameters, so that a point can disagree."""

_RESAMPLES = 1_000
_SEED = 1
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with the ends of its 95 % interval; infinite where unknown."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalabilityFit:
    """The fitted parameters.

    Attributes:
        rate_eps: rate of one worker, events/s.
        contention: serial share of the work, in [0, inf).
        coherence: cost per pair of workers, as share of one worker's work, in [0, inf).
        peak_workers: number of workers with the highest rate; infinite without coherence.
        worst_error: largest distance of a median rate from the law's rate, as share of the law's rate.
    """

    rate_eps: Interval
    contention: Interval
    coherence: Interval
    peak_workers: Interval
    worst_error: float


def fit_scalability(rates_eps: Mapping[int, Sequence[float]]) -> ScalabilityFit | None:
    """Fit the law to rates above 0, one per process, by number of workers.

    None with fewer than FEWEST_COUNTS numbers of workers.
    """
    counts = sorted(count for count, rates in rates_eps.items() if len(rates))
    if len(counts) < FEWEST_COUNTS:
        return None
    samples = [np.asarray(rates_eps[count], np.float64) for count in counts]
    workers = np.array(counts, np.float64)
    medians = np.array([np.median(sample) for sample in samples])
    fitted = _solve(workers, medians)
    low, high = _interval_ends(workers, samples)
    rate, contention, coherence, peak = (
        Interval(value=float(value), low=float(below), high=float(above))
        for value, below, above in zip(fitted, low, high, strict=True)
    )
    law = predicted_eps(workers, rate.value, contention.value, coherence.value)
    return ScalabilityFit(
        rate_eps=rate,
        contention=contention,
        coherence=coherence,
        peak_workers=peak,
        worst_error=float(np.max(np.abs(medians / law - 1))),
    )


def predicted_eps(
    workers: NDArray[np.float64], rate_eps: float, contention: float, coherence: float
) -> NDArray[np.float64]:
    """Return the law's rate at each number of workers."""
    pairs = coherence * workers * (workers - 1)
    rates: NDArray[np.float64] = rate_eps * workers / (1 + contention * (workers - 1) + pairs)
    return rates


def _interval_ends(
    workers: NDArray[np.float64], samples: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the interval ends of all parameters; infinite if every number of workers has only one process."""
    if all(len(sample) == 1 for sample in samples):
        return np.tile([[-np.inf], [np.inf]], 4)
    random = np.random.default_rng(_SEED)
    medians = [
        np.median(random.choice(sample, (_RESAMPLES, len(sample))), axis=1) for sample in samples
    ]
    resampled = np.array([_solve(workers, rates) for rates in np.column_stack(medians)])
    tail = 100 * (1 - _CONFIDENCE) / 2
    ends: NDArray[np.float64] = np.percentile(
        resampled, [tail, 100 - tail], axis=0, method="nearest"
    )
    return ends


def _solve(workers: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rate, contention, coherence and peak."""
    terms = np.column_stack([np.ones(len(workers)), workers - 1, workers * (workers - 1)])
    # n / X = (1 + contention (n - 1) + coherence n (n - 1)) / rate, each row divided by its left side.
    (inverse_rate, serial, pairwise), _ = nnls(
        terms * (rates / workers)[:, None], np.ones(len(workers))
    )
    if inverse_rate <= 0:  # rates grow faster than the workers, which no serial share explains
        return np.array([np.inf, 0.0, 0.0, np.inf])
    contention, coherence = serial / inverse_rate, pairwise / inverse_rate
    peak = np.sqrt(max(0.0, 1 - contention) / coherence) if coherence > 0 else np.inf
    return np.array([1 / inverse_rate, contention, coherence, max(1.0, float(peak))])
