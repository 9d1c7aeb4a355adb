"""Estimates quantities over several cells, with intervals of a guaranteed error probability.

For every alpha, an estimate has two ends; each end is on the wrong side of the truth with probability at most alpha.
The truth of a cell is the median of its distribution. A cell has one value per fresh process; all values are
independent.

- `Product` (a rate, a quotient of cells, a quotient of quotients): Welch's t on logarithms, which
  allows cells of unequal noise. Exact for log-normal noise of one size, nearly for several sizes.
  Outliers widen the interval, so it errs towards being inconclusive. The interval misses the truth if a
  cell has two modes and all n values come from the rarer mode, which has probability p^n.
- `Level` (a correlation, a share): the same test on the values themselves, which may be 0 or below.
- `Middle` (counts, durations that are often equal): the order statistics of one cell. Exact for every
  distribution; needs enough values that 1 / 2^n is at most alpha.
- `Extreme` and `Monotone` combine several estimates. The lower end of the highest of k uses alpha / k
  (Bonferroni), since any of the k lower ends could exceed the truth. The upper end uses alpha. For the
  lowest of k, the ends are reversed. Other combinations divide alpha at both ends. So these intervals are
  too wide rather than too narrow.

A dozen intervals that must all hold need a small alpha. For such an alpha, a bootstrap such as `ratio_interval`
has too few different resamples of six values; tests/results/stats/test_estimates.py has rates.
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
"""Fewest values of a cell that show its spread; also the minimum of `ratio_interval`."""

TRIMMED = 8
"""For every eight values, the mean leaves out the smallest and the largest: one stalled process in eight must
not make an interval useless."""

_POWER_Z = 0.84
"""Normal quantile of 80 %: the probability that the planned number of values suffices for a verdict."""


class Estimate(Protocol):
    """A measured quantity with its interval."""

    @property
    def value(self) -> float:
        """The point estimate, from medians."""
        ...

    @property
    def n(self) -> int:
        """The fewest values of any cell in the estimate."""
        ...

    def ends(self, alpha: float, planned_n: int | None = None) -> Ends:
        """Return the ends, each on the wrong side of the truth with probability at most `alpha`.

        Args:
            alpha: error probability of each end.
            planned_n: a planned number of values per cell; the ends are then a forecast that assumes the
                spread of the present values. None: the ends for the present values.
        """
        ...


@dataclass(frozen=True, slots=True)
class Product:
    """A factor times the medians of cells, each to a power: `(a, 1), (b, -1)` is a / b.

    Attributes:
        cells: the values of each cell, all above 0, with its power. Equal values are the same cell.
        factor: a number above 0.
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

    def ends(self, alpha: float, planned_n: int | None = None) -> Ends:
        """See `Estimate`; UNKNOWN if a value is not above 0."""
        if not self.cells:
            return self.factor, self.factor
        if self.n < FEWEST or any(min(values) <= 0 for values, _ in self.cells):
            return UNKNOWN
        logs = [([math.log(value) for value in values], power) for values, power in self.cells]
        middle, half = _centre(logs, alpha, planned_n)
        if half == 0:
            return self.value, self.value
        middle += math.log(self.factor)
        return _widen(self.value, _exp(middle - half), _exp(middle + half))

    def times(self, other: "Product", power: float) -> "Product":
        """Multiply by another product to a power, and merge equal cells.

        A cell that cancels out stays with power 0, since `n` counts its values.
        """
        powers = dict(self.cells)
        for values, exponent in other.cells:
            powers[values] = powers.get(values, 0.0) + exponent * power
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

    def ends(self, alpha: float, planned_n: int | None = None) -> Ends:
        """See `Estimate`."""
        if self.n < FEWEST:
            return UNKNOWN
        middle, half = _centre([(self.values, 1.0)], alpha, planned_n)
        return _widen(self.value, middle - half, middle + half)


@dataclass(frozen=True, slots=True)
class Middle(Level):
    """A quantity of one cell with any distribution."""

    def ends(self, alpha: float, planned_n: int | None = None) -> Ends:
        """See `Estimate`."""
        ordered = sorted(self.values)
        rank = order_rank(self.n if planned_n is None else planned_n, alpha)
        if rank == 0:
            return UNKNOWN
        if planned_n is None:
            return ordered[rank - 1], ordered[-rank]
        index = math.floor((rank - 0.5) / planned_n * self.n)
        return ordered[index], ordered[-1 - index]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The highest or the lowest of several quantities."""

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

    def ends(self, alpha: float, planned_n: int | None = None) -> Ends:
        """See `Estimate`."""
        pick = max if self.highest else min
        divided = alpha / len(self.parts)
        low_alpha, high_alpha = (divided, alpha) if self.highest else (alpha, divided)
        return (
            pick(part.ends(low_alpha, planned_n)[0] for part in self.parts),
            pick(part.ends(high_alpha, planned_n)[1] for part in self.parts),
        )


@dataclass(frozen=True, slots=True)
class Monotone:
    """A monotonic function of several quantities.

    Attributes:
        function: takes the values of `rising`, then those of `falling`.
        rising: quantities in which the function never falls.
        falling: quantities in which the function never rises.
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

    def ends(self, alpha: float, planned_n: int | None = None) -> Ends:
        """See `Estimate`; UNKNOWN if the ends of a part are unknown."""
        share = alpha / (len(self.rising) + len(self.falling))
        rising_ends = [part.ends(share, planned_n) for part in self.rising]
        falling_ends = [part.ends(share, planned_n) for part in self.falling]
        if UNKNOWN in (*rising_ends, *falling_ends):
            return UNKNOWN
        low = self.function([*(low for low, _ in rising_ends), *(high for _, high in falling_ends)])
        high = self.function(
            [*(high for _, high in rising_ends), *(low for low, _ in falling_ends)]
        )
        return low, high


def cell_median(values: Sequence[float], factor: float = 1.0) -> Product:
    """Return the estimate of a cell's median; the values are above 0."""
    return Product(((tuple(values), 1.0),), factor)


def lowest(parts: Sequence[Estimate]) -> Estimate:
    """Return the lowest of one or more quantities."""
    return parts[0] if len(parts) == 1 else Extreme(tuple(parts), highest=False)


def highest(parts: Sequence[Estimate]) -> Estimate:
    """Return the highest of one or more quantities."""
    return parts[0] if len(parts) == 1 else Extreme(tuple(parts), highest=True)


def ratio(dividend: "Product | Extreme", divisor: "Product | Extreme") -> "Product | Extreme":
    """Return a quotient. A quotient of extremes becomes an extreme of quotients, so that each has one t-test."""
    match dividend, divisor:
        case Extreme(), _:
            return Extreme(
                tuple(ratio(_check_products(p), divisor) for p in dividend.parts), dividend.highest
            )
        case Product(), Extreme():
            parts = tuple(ratio(dividend, _check_products(p)) for p in divisor.parts)
            return Extreme(parts, not divisor.highest)
        case Product(), Product():
            return dividend.times(divisor, -1.0)
        case _:
            assert_never((dividend, divisor))


def _check_products(part: Estimate) -> "Product | Extreme":
    if not isinstance(part, Product | Extreme):
        raise TypeError(f"expected a Product, or an Extreme of products, got {part!r}")
    return part


def _centre(
    cells: Sequence[tuple[Sequence[float], float]], alpha: float, planned_n: int | None
) -> tuple[float, float]:
    """Return a weighted sum of trimmed means, and half the width of its interval.

    Trimmed means: Yuen (1974, Biometrika 61:165). Degrees of freedom of unequal variances: Welch
    (1947, Biometrika 34:28).
    """
    middle = squared = freedom = 0.0
    for values, weight in cells:
        ordered = sorted(values)
        cut = len(ordered) // TRIMMED
        inner = ordered[cut : len(ordered) - cut]
        middle += weight * fmean(inner)
        # The Winsorized variance: each trimmed value counts as the nearest remaining value.
        spread = _variance([inner[0]] * cut + inner + [inner[-1]] * cut)
        n = len(ordered) if planned_n is None else planned_n
        remaining_n = n - 2 * (n // TRIMMED)
        part = weight**2 * spread * (n - 1) / (remaining_n * (remaining_n - 1))
        squared += part
        freedom += part**2 / (remaining_n - 1)
    if squared == 0:
        return middle, 0.0
    power_z = 0.0 if planned_n is None else _POWER_Z
    return middle, float((stdtrit(squared**2 / freedom, 1 - alpha) + power_z) * math.sqrt(squared))


def _variance(values: Sequence[float]) -> float:
    # statistics.variance computes with fractions, which takes ten times as long.
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _widen(value: float, low: float, high: float) -> Ends:
    # The interval is centred on means, but must include the value, which is computed from medians.
    return min(value, low), max(value, high)


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf  # exp(709) is near the largest float
