"""Estimates made of several cells, each with ends that are wrong no more often than they say.

An estimate has two ends for every alpha: each lies beyond the truth with probability at most alpha.
What is true of a cell is the median of its distribution; its values are one a fresh process,
independent of each other and of other cells'.

- `Product` (a rate, a quotient of cells, a quotient of quotients): Welch's t on logarithms, which
  takes cells of unequal noise. Exact for log-normal noise of one size, near it for several sizes.
  Outliers widen the interval, so that it errs towards saying nothing. It errs the other way where
  a cell has two modes and all its few values come from the rarer one: n values do with p^n.
- `Level` (a correlation, a share): the same on the values themselves; for what may be 0 or below.
- `Middle` (counts, durations that are often equal): the order statistics of one cell, exact for
  every distribution, for which 1 / 2^n has to be at most alpha.
- `Extreme` and `Combined` make one of several. The end of the highest of k that has to hold for
  whichever is the highest costs nothing; the other one, which any of the k could spoil, is taken at
  alpha / k (Bonferroni), as both ends of other combinations are. So they err towards width.

A bootstrap, which `ratio_interval` is, has too few different resamples of six values for the small
alphas at which a dozen intervals hold together; tests/results/stats/test_estimates.py has rates.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Protocol, assert_never

from scipy.special import stdtrit

from streamlab.results.stats.intervals import order_rank

Ends = tuple[float, float]
UNKNOWN: Ends = (-math.inf, math.inf)

FEWEST = 3
"""Values of a cell without which its spread is not known; also where `ratio_interval` begins."""

TRIMMED = 8
"""Of so many values the smallest and the largest are left out of the mean: one stalled process in
eight must not make an interval useless. Of fewer, none are."""

_POWER_Z = 0.84
"""Normal quantile of 80 %: with as many values as planned, that share of repeats is decided."""


class Estimate(Protocol):
    """What is measured of one quantity."""

    @property
    def value(self) -> float:
        """The quantity itself, of medians."""
        ...

    @property
    def n(self) -> int:
        """Fewest values of any cell that it is made of."""
        ...

    def ends(self, alpha: float, again: int | None = None) -> Ends:
        """Return the ends, each beyond the truth with probability at most `alpha`.

        Args:
            alpha: of each end.
            again: instead, what as many values of each cell would probably give, were they spread
                as these.
        """
        ...


@dataclass(frozen=True, slots=True)
class Product:
    """`factor` times the medians of cells, each to a power: `(a, 1), (b, -1)` is a / b.

    Attributes:
        cells: values of each cell, all above 0, and its power. Cells of equal values are one cell.
        factor: above 0.
    """

    cells: tuple[tuple[tuple[float, ...], float], ...]
    factor: float = 1.0

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return self.factor * math.prod(
            math.pow(median(values), power) for values, power in self.cells
        )

    @property
    def n(self) -> int:
        """See `Estimate`."""
        return min((len(values) for values, _ in self.cells), default=FEWEST)

    def ends(self, alpha: float, again: int | None = None) -> Ends:
        """See `Estimate`; unknown where a value is not above 0."""
        if not self.cells:
            return self.factor, self.factor
        if self.n < FEWEST or any(min(values) <= 0 for values, _ in self.cells):
            return UNKNOWN
        logs = [([math.log(value) for value in values], power) for values, power in self.cells]
        middle, half = _centre(logs, alpha, again)
        if half == 0:
            return self.value, self.value
        middle += math.log(self.factor)
        return _around(self.value, _exp(middle - half), _exp(middle + half))

    def times(self, other: "Product", power: float) -> "Product":
        """Return this by another one to a power; what is in both is not counted twice.

        What cancels out stays, to the power of 0: how often it was measured still counts.
        """
        powers = dict(self.cells)
        for values, own in other.cells:
            powers[values] = powers.get(values, 0.0) + own * power
        return Product(
            tuple(powers.items()),
            self.factor * other.factor**power,
        )


@dataclass(frozen=True, slots=True)
class Level:
    """A quantity of one cell that may be 0 or below."""

    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return median(self.values)

    @property
    def n(self) -> int:
        """See `Estimate`."""
        return len(self.values)

    def ends(self, alpha: float, again: int | None = None) -> Ends:
        """See `Estimate`."""
        if self.n < FEWEST:
            return UNKNOWN
        middle, half = _centre([(self.values, 1.0)], alpha, again)
        return _around(self.value, middle - half, middle + half)


@dataclass(frozen=True, slots=True)
class Middle:
    """A quantity of one cell, whatever its distribution."""

    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return median(self.values)

    @property
    def n(self) -> int:
        """See `Estimate`."""
        return len(self.values)

    def ends(self, alpha: float, again: int | None = None) -> Ends:
        """See `Estimate`."""
        ordered = sorted(self.values)
        rank = order_rank(self.n if again is None else again, alpha)
        if rank == 0:
            return UNKNOWN
        if again is None:
            return ordered[rank - 1], ordered[-rank]
        at = math.floor((rank - 0.5) / again * self.n)
        return ordered[at], ordered[-1 - at]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The highest, or the lowest, of several quantities."""

    parts: tuple[Estimate, ...]
    highest: bool

    @property
    def value(self) -> float:
        """See `Estimate`."""
        pick = max if self.highest else min
        return pick(part.value for part in self.parts)

    @property
    def n(self) -> int:
        """See `Estimate`."""
        return min(part.n for part in self.parts)

    def ends(self, alpha: float, again: int | None = None) -> Ends:
        """See `Estimate`."""
        pick = max if self.highest else min
        near, far = alpha, alpha / len(self.parts)
        lows, highs = (far, near) if self.highest else (near, far)
        return (
            pick(part.ends(lows, again)[0] for part in self.parts),
            pick(part.ends(highs, again)[1] for part in self.parts),
        )


@dataclass(frozen=True, slots=True)
class Combined:
    """A function of several quantities that never falls as one of `rising` grows.

    Attributes:
        function: takes the values of `rising`, then those of `falling`.
        rising, falling: the quantities; it never rises as one of `falling` grows.
    """

    function: Callable[[Sequence[float]], float]
    rising: tuple[Estimate, ...]
    falling: tuple[Estimate, ...] = ()

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return self.function([part.value for part in (*self.rising, *self.falling)])

    @property
    def n(self) -> int:
        """See `Estimate`."""
        return min(part.n for part in (*self.rising, *self.falling))

    def ends(self, alpha: float, again: int | None = None) -> Ends:
        """See `Estimate`; unknown while that of a part is."""
        share = alpha / (len(self.rising) + len(self.falling))
        up = [part.ends(share, again) for part in self.rising]
        down = [part.ends(share, again) for part in self.falling]
        if UNKNOWN in (*up, *down):
            return UNKNOWN
        low = self.function([*(low for low, _ in up), *(high for _, high in down)])
        high = self.function([*(high for _, high in up), *(low for low, _ in down)])
        return low, high


def one(values: Sequence[float], factor: float = 1.0) -> Product:
    """Return the estimate of one cell's median, of values above 0."""
    return Product(((tuple(values), 1.0),), factor)


def lowest(parts: Sequence[Estimate]) -> Estimate:
    """Return the lowest of at least one quantity."""
    return parts[0] if len(parts) == 1 else Extreme(tuple(parts), highest=False)


def highest(parts: Sequence[Estimate]) -> Estimate:
    """Return the highest of at least one quantity."""
    return parts[0] if len(parts) == 1 else Extreme(tuple(parts), highest=True)


def ratio(above: "Product | Extreme", below: "Product | Extreme") -> "Product | Extreme":
    """Return a quotient: of extremes, the same extremes of quotients, so that each is one t."""
    match above, below:
        case Extreme(), _:
            return Extreme(tuple(ratio(_pure(p), below) for p in above.parts), above.highest)
        case Product(), Extreme():
            parts = tuple(ratio(above, _pure(p)) for p in below.parts)
            return Extreme(parts, not below.highest)
        case Product(), Product():
            return above.times(below, -1.0)
        case _:
            assert_never((above, below))


def _pure(part: Estimate) -> "Product | Extreme":
    if not isinstance(part, Product | Extreme):
        raise TypeError(f"a quotient is of medians of cells and their extremes, not of {part!r}")
    return part


def _centre(
    cells: Sequence[tuple[Sequence[float], float]], alpha: float, again: int | None
) -> tuple[float, float]:
    """Return a weighted sum of trimmed means, and half the width of its interval.

    Trimmed means: Yuen (1974, Biometrika 61:165). Degrees of freedom of unequal variances: Welch
    (1947, Biometrika 34:28).
    """
    middle = squared = free = 0.0
    for values, weight in cells:
        ordered = sorted(values)
        cut = len(ordered) // TRIMMED
        kept = ordered[cut : len(ordered) - cut]
        middle += weight * fmean(kept)
        # Winsorized: what is cut off counts as the nearest that is kept.
        spread = _variance([kept[0]] * cut + kept + [kept[-1]] * cut)
        n = len(ordered) if again is None else again
        left = n - 2 * (n // TRIMMED)
        part = weight**2 * spread * (n - 1) / (left * (left - 1))
        squared += part
        free += part**2 / (left - 1)
    if squared == 0:
        return middle, 0.0
    more = 0.0 if again is None else _POWER_Z
    return middle, float((stdtrit(squared**2 / free, 1 - alpha) + more) * math.sqrt(squared))


def _variance(values: Sequence[float]) -> float:
    # statistics.variance takes fractions, ten times as long.
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _around(value: float, low: float, high: float) -> Ends:
    # The middle of an interval is that of means; what is shown is of medians, and lies within.
    return min(value, low), max(value, high)


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf
