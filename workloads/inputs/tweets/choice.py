"""Chooses at random from tables of weights, with equal results on every machine.

Weights are computed in decimal arithmetic, as in `streamlab.workloads.datasets.random`, because
floating-point functions of two machines may differ in the last bit.
"""

from decimal import Context, Decimal
from functools import lru_cache

from streamlab.workloads.datasets.random import Bits, thresholds

MAX_WORDS = 64
"""Largest number of words in a tweet; longer tweets are negligible, because a tweet has at most 280 characters."""

MAX_HASHTAGS = 8
"""Largest number of hashtags in a tweet; only 0.3^8 (7e-5) of the tweets with hashtags would have more."""

WORDS_DISPERSION = 13
"""r of the negative binomial distribution of words in a tweet. 63,326 real tweets (UCI, Health News in
Twitter) have the mean 10.9 and the variance 20.0, which give r = 13.3."""

_CONTEXT = Context(prec=40)
_SCALE = Decimal(10) ** 24


@lru_cache(maxsize=8)
def ranks(count: int, exponent: float, shift: int) -> Bits:
    """Return bounds that choose rank k in [0, count) with weight 1 / (k + 1 + shift)^exponent.

    This is the Zipf-Mandelbrot law: in text, the first few ranks are rarer than 1/k.
    """
    power = Decimal(repr(-exponent))
    return _bounds([_CONTEXT.power(Decimal(k + shift), power) for k in range(1, count + 1)])


@lru_cache(maxsize=8)
def words_per_tweet(mean: float) -> Bits:
    """Return bounds that choose a number of words in [0, MAX_WORDS].

    Negative binomial: P(0) = p^r, P(k + 1) = P(k) (k + r) / (k + 1) (1 - p), p = r / (r + mean).
    """
    r = Decimal(WORDS_DISPERSION)
    p = _CONTEXT.divide(r, r + Decimal(repr(mean)))
    weights = [_CONTEXT.power(p, r)]
    for k in range(MAX_WORDS):
        weights.append(_CONTEXT.divide(weights[-1] * (k + r) * (1 - p), Decimal(k + 1)))
    return _bounds(weights)


@lru_cache(maxsize=8)
def hashtags_per_tweet(share: float) -> Bits:
    """Return bounds that choose a number of hashtags in [0, MAX_HASHTAGS].

    `share` is the share of tweets with hashtags. Each further hashtag has probability 0.3, as in the real tweets
    (8,021 with one hashtag, 2,419 with two, 708 with three).
    """
    first, further = Decimal(repr(share)), Decimal("0.3")
    counts = [first * (1 - further) * further**k for k in range(MAX_HASHTAGS)]
    return _bounds([1 - first, *counts])


def _bounds(weights: list[Decimal]) -> Bits:
    return thresholds([int(weight * _SCALE) for weight in weights])
