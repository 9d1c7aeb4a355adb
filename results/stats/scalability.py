"""Fits the universal scalability law to rates that were measured at several numbers of workers.

    X(n) = rate_eps n / (1 + contention (n - 1) + coherence n (n - 1))

`contention` is the share of the work that is done one at a time (Amdahl's serial share), and
`coherence` the cost of each pair of workers that exchange data (N. Gunther, Guerrilla Capacity
Planning, 2007, chapter 4). Divided by X the law is linear in its three numbers, which are never
negative: non-negative least squares on relative errors gives them without a starting point.
Intervals are percentiles of a bootstrap over the processes of each number of workers. They hold
for the noise of the processes; they do not say that the law fits, which `worst_error` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

FEWEST_COUNTS = 4
"""Different numbers of workers: three numbers are fitted, and one more count can disagree."""

_RESAMPLES = 1_000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with the ends of its 95 % interval; infinite where it is unknown."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalabilityFit:
    """The law's numbers.

    Attributes:
        rate_eps: of one worker, events/s.
        contention: share of the work that workers do one at a time, in [0, inf).
        coherence: cost of each pair of workers, as share of one worker's work, in [0, inf).
        peak_workers: with how many workers the rate is highest; infinite without coherence.
        worst_error: largest distance of a median rate from the law, as share of the law.
    """

    rate_eps: Interval
    contention: Interval
    coherence: Interval
    peak_workers: Interval
    worst_error: float


def fit_scalability(
    rates_eps: Mapping[int, Sequence[float]], *, seed: int = 1
) -> ScalabilityFit | None:
    """Fit the law.

    Args:
        rates_eps: by number of workers, the rate of each process, above zero.
        seed: of the bootstrap.

    Returns:
        None with rates of fewer than four numbers of workers.
    """
    counts = sorted(count for count, rates in rates_eps.items() if len(rates))
    if len(counts) < FEWEST_COUNTS:
        return None
    samples = [np.asarray(rates_eps[count], np.float64) for count in counts]
    workers = np.array(counts, np.float64)
    medians = np.array([np.median(sample) for sample in samples])
    found = _solve(workers, medians)
    low, high = _ends(workers, samples, seed)
    rate, contention, coherence, peak = (
        Interval(value=float(value), low=float(below), high=float(above))
        for value, below, above in zip(found, low, high, strict=True)
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


def _ends(
    workers: NDArray[np.float64], samples: Sequence[NDArray[np.float64]], seed: int
) -> NDArray[np.float64]:
    """Return the ends of the intervals of all numbers; unknown where no noise was seen."""
    if all(len(sample) == 1 for sample in samples):
        return np.tile([[-np.inf], [np.inf]], 4)
    random = np.random.default_rng(seed)
    medians = [
        np.median(random.choice(sample, (_RESAMPLES, len(sample))), axis=1) for sample in samples
    ]
    resampled = np.array([_solve(workers, rates) for rates in np.column_stack(medians)])
    tail = 100 * (1 - _LEVEL) / 2
    ends: NDArray[np.float64] = np.percentile(
        resampled, [tail, 100 - tail], axis=0, method="nearest"
    )
    return ends


def _solve(workers: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rate, contention, coherence and the peak."""
    terms = np.column_stack([np.ones(len(workers)), workers - 1, workers * (workers - 1)])
    # n / X = (1 + contention (n - 1) + coherence n (n - 1)) / rate, each row divided by its left.
    (once, serial, pairwise), _ = nnls(terms * (rates / workers)[:, None], np.ones(len(workers)))
    if once <= 0:  # rates that grow faster than their workers: no serial share explains these
        return np.array([np.inf, 0.0, 0.0, np.inf])
    contention, coherence = serial / once, pairwise / once
    peak = np.sqrt(max(0.0, 1 - contention) / coherence) if coherence > 0 else np.inf
    return np.array([1 / once, contention, coherence, max(1.0, float(peak))])
