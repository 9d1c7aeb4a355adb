"""Defines two methods to compare arms: for independent values, and for pairs under equal conditions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.results.stats.intervals import Interval, ratio_interval, ratio_of_medians
from streamlab.results.stats.mann_whitney import Alternative, mann_whitney, smallest_p
from streamlab.results.stats.noise import Noise, resampled_noise
from streamlab.results.stats.pairs import (
    pair_interval,
    pair_noise,
    pair_ratio,
    signed_rank,
    smallest_pair_p,
)

Values = npt.ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method of comparison; each function takes the old values, then the new ones.

    Attributes:
        p: returns the exact p-value of an alternative.
        smallest_p: returns the p-value of the clearest order; takes the number of values of each arm.
        ratio: estimates new / old.
        noise: estimates the A/A noise of `ratio`; also takes a generator and a number of draws.
        interval: returns the interval of `ratio`, None with too few values; also takes a generator.
    """

    p: Callable[[Values, Values, Alternative], float]
    smallest_p: Callable[[int, int], float]
    ratio: Callable[[Values, Values], float]
    noise: Callable[[Values, Values, np.random.Generator, int], Noise]
    interval: Callable[[Values, Values, np.random.Generator], Interval | None]


def _resampled_noise(old: Values, new: Values, rng: np.random.Generator, draws: int) -> Noise:
    return resampled_noise((old, new), min(np.size(old), np.size(new)), rng, draws)


INDEPENDENT = Method(
    p=mann_whitney,
    smallest_p=smallest_p,
    ratio=ratio_of_medians,
    noise=_resampled_noise,
    interval=ratio_interval,
)
PAIRED = Method(
    p=signed_rank,
    smallest_p=smallest_pair_p,
    ratio=pair_ratio,
    noise=pair_noise,
    interval=lambda old, new, rng: pair_interval(old, new),
)
