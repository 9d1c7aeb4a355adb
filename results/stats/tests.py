"""The exact Mann-Whitney test: whether one arm's values tend to be larger than another's."""

from math import comb
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

Alternative = Literal["greater", "less", "two-sided"]


def mann_whitney(
    old: npt.ArrayLike, new: npt.ArrayLike, alternative: Alternative = "greater"
) -> float:
    """Return the exact p-value of the Mann-Whitney test.

    The null hypothesis is that all orders of the values of both arms are equally likely. Equal
    values in both arms count against the alternative, so that ties make the p-value too large,
    never too small: the test then errs towards no alarm.

    Args:
        old: one value a process, at least one.
        new: likewise.
        alternative: `greater`: new tends to be larger than old.
    """
    if alternative == "two-sided":
        return min(1.0, 2 * min(mann_whitney(old, new, "greater"), mann_whitney(old, new, "less")))
    first, second = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    values = np.concatenate([first, second])
    if len(first) == 0 or len(second) == 0 or not np.isfinite(values).all():
        raise ValueError(f"expected finite numbers in both arms, got {old!r} and {new!r}")
    is_new = np.arange(len(values)) >= len(first)
    place = is_new if alternative == "less" else ~is_new
    ranks = np.empty(len(values))
    # Of equal values, those that would speak for the alternative are ranked as if they did not.
    ranks[np.lexsort((place, values))] = np.arange(len(values))
    found = stats.mannwhitneyu(
        ranks[is_new], ranks[~is_new], alternative=alternative, method="exact"
    )
    return float(found.pvalue)


def smallest_p(n_old: int, n_new: int) -> float:
    """Return the smallest one-sided p-value that the exact test can give with so many values.

    1 / C(n_old + n_new, n_old): 0.05 for 3 and 3, 0.004 for 5 and 5. A gate whose level is at or
    below this can never raise an alarm.
    """
    return 1 / comb(n_old + n_new, n_old)
