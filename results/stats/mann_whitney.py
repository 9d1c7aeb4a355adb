"""Tests whether the values of one arm tend to be larger: the Mann-Whitney test, exact except for huge arms."""

from functools import lru_cache
from math import comb, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

LARGEST_TABLE = 40_000
"""Most pairs of values (200 by 200) with exact p-values. The table of the distribution then takes a second
and 40 MB; both grow with the square of the number of pairs."""

Alternative = Literal["greater", "less", "two-sided"]
Floats = npt.NDArray[np.float64]


def mann_whitney(
    old: npt.ArrayLike, new: npt.ArrayLike, alternative: Alternative = "greater"
) -> float:
    """Return the p-value of the Mann-Whitney test.

    The null hypothesis is that all orders of the values of both arms are equally likely.
    Values that are equal in both arms count against the alternative. So ties make the p-value too large,
    never too small, and the test errs towards no alarm.
    The p-value is exact up to LARGEST_TABLE pairs. Beyond, it is the normal approximation with continuity
    correction, whose tail also errs towards no alarm.

    Each arm has at least one value, one per process. `greater`: new tends to be larger than old.

    Raises:
        ValueError: an arm is empty or has a value that is not finite.
    """
    first, second = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    if not (first.size and second.size and np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError(f"expected finite numbers in both arms, got {old!r} and {new!r}")
    # Pairs that support the alternative; a pair of equal values supports neither.
    greater = int(np.count_nonzero(np.less.outer(first, second)))
    less = int(np.count_nonzero(np.greater.outer(first, second)))
    pairs_for = {"greater": greater, "less": less, "two-sided": max(greater, less)}[alternative]
    sizes = min(first.size, second.size), max(first.size, second.size)
    exact = first.size * second.size <= LARGEST_TABLE
    one_sided = float(_upper_tail(*sizes)[pairs_for]) if exact else _normal_tail(*sizes, pairs_for)
    return min(1.0, 2 * one_sided) if alternative == "two-sided" else one_sided


@lru_cache(maxsize=64)
def _upper_tail(n: int, m: int) -> Floats:
    """Return P(U >= u) for u = 0 .. n * m when all orders of n and m values are equally likely.

    The largest of all values is one of the n values with chance n / (n + m), and then exceeds all m values
    (Mann and Whitney 1947, Ann. Math. Stat. 18:50, equation 1). The sums have only positive terms, so the
    smallest p-value is accurate to about n + m rounding errors.
    """
    # chances[j] is the distribution of U for i and j values.
    chances = [np.ones(1) for _ in range(m + 1)]
    for i in range(1, n + 1):
        chances[0] = np.ones(1)
        for j in range(1, m + 1):
            chance = np.zeros(i * j + 1)
            chance[j:] = chances[j] * (i / (i + j))
            chance[: i * (j - 1) + 1] += chances[j - 1] * (j / (i + j))
            chances[j] = chance
    tail = np.minimum(np.cumsum(chances[m][::-1])[::-1], 1.0)
    tail[0] = 1.0
    tail.flags.writeable = False
    return tail


def _normal_tail(n: int, m: int, pairs_for: int) -> float:
    """Return P(U >= pairs_for) by the normal distribution with the same mean and variance."""
    deviation = sqrt(n * m * (n + m + 1) / 12)
    return float(ndtr(-(pairs_for - 0.5 - n * m / 2) / deviation))


def smallest_p(n_old: int, n_new: int) -> float:
    """Return the smallest one-sided p-value of the exact test with these numbers of values.

    It is 1 / C(n_old + n_new, n_old): 0.05 for 3 and 3 values, 0.004 for 5 and 5. A gate whose level is not
    above this p-value can never raise an alarm.
    """
    return 1 / comb(n_old + n_new, n_old)
