"""Computes a trading day: the trades of each second, and the price of each company.

Everything is a function of parameters, seed and day. It uses integers and the four basic operations
of double precision, which are the same on every machine.

Trades of a second: the weight of a second is 2^(g / 64), where g sums, in 64ths of an octave,

- the time of day: 2 octaves at the opening, falling to 0 over the first sixth of the session, and
  rising to 1 over the last sixth, until the close;
- a slow part, the mean of 64 seconds' noise, with a deviation of about 0.6 octaves;
- a fast part, the noise of the second, with a deviation of about 1.6 octaves.

Rates are therefore log-normal. A block of four seconds has no trades with probability 1/16. Weights
are scaled to `mean_eps` trades a second over the session and limited to 7/8 of the peak. One second
in the middle half of the session is the peak, with `peak_eps` trades. The three seconds before and
after it have a half, a quarter and an eighth of these trades.

Prices: a company's distance from its average of the day before is a random walk between 1/2 and 2
times `gap`, reflected at both ends. All companies are on the same side of their averages, as on a
day when the whole market has moved.
"""

from decimal import Context, Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.random import below, draw

IntArray = npt.NDArray[np.int64]

UNIT_BITS = 20
"""Distances are in units of 2^-20 of the average."""

_OCTAVE = 64
_LOWEST, _HIGHEST = -7 * _OCTAVE, 9 * _OCTAVE
"""Weights are clipped to 16 octaves, four deviations of all parts."""

_SLOW_SECONDS, _SLOW_NOISE = 64, 530
"""Number of uniform noises and their bound; their mean has a deviation of 530 / sqrt(3 x 64) = 38."""
_FAST_PARTS, _FAST_NOISE = 4, 88
"""Number of uniform noises and their bound; their sum has a deviation of 88 sqrt(4 / 3) = 102."""
_BLOCK_SECONDS, _QUIET_ONE_IN = 4, 16
_BURST = 3
"""Seconds before and after the peak with a half, a quarter and an eighth of its trades."""
_STEPS = 128
"""A walk's steps are uniform up to gap / 128: about 2/3 of the gap in six hours."""

_SLOW, _FAST, _QUIET, _PEAK, _SIDE, _AVERAGE, _WALK = 0, 1, 5, 6, 7, 8, 16  # lanes
_FIRST_DAY = 2
"""Streams of random numbers from this number on are for days, and the streams before for rows."""


class Session(NamedTuple):
    """The parameters of a trading session.

    Attributes:
        seconds: length of the session.
        mean_eps: trades a second over the session.
        peak_eps: trades in the peak second.
        companies: number of companies.
        gap: distance between price and average, in units of 2^-20 of the average.
    """

    seconds: int
    mean_eps: int
    peak_eps: int
    companies: int
    gap: int

    @property
    def trades(self) -> int:
        """Trades in a whole session."""
        return self.seconds * self.mean_eps


@lru_cache(maxsize=4)
def trades_until(session: Session, seed: int, day: int) -> IntArray:
    """Return int64[seconds + 1]: the number of trades before each second, and the total."""
    forced = _peak(session, seed, day)
    weights = _weights(session, seed, day)
    weights[forced > 0] = 0
    target = session.trades - int(forced.sum())
    if not weights.any():
        weights[forced == 0] = 1
    limit = session.peak_eps * 7 // 8
    for _ in range(_HIGHEST):
        highest = int(weights.sum()) * limit // target + 1
        if weights.max() <= highest:
            break
        weights = np.minimum(weights, highest)
    total = int(weights.sum())
    trades_before = np.floor(np.cumsum(weights).astype(np.float64) * (target / total)).astype(
        np.int64
    )
    trades_before[trades_before >= target] = target
    trades_before[np.flatnonzero(weights)[-1] :] = target
    trades_before += np.cumsum(forced)
    trades_before = np.concatenate([np.zeros(1, dtype=np.int64), trades_before])
    trades_before.flags.writeable = False
    return trades_before


def _weights(session: Session, seed: int, day: int) -> IntArray:
    stream, seconds = _FIRST_DAY + day, session.seconds
    second = np.arange(seconds, dtype=np.int64)
    sixth = max(1, seconds // 6)
    hour = np.maximum(0, 2 * _OCTAVE - 2 * _OCTAVE * second // sixth)
    hour += np.maximum(0, _OCTAVE * (second - (seconds - sixth)) // sixth)
    noise = _noise(seed, stream, _SLOW, seconds + _SLOW_SECONDS - 1, _SLOW_NOISE)
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(noise)])
    slow = (sums[_SLOW_SECONDS:] - sums[:-_SLOW_SECONDS]) // _SLOW_SECONDS
    octaves = hour + slow
    for part in range(_FAST_PARTS):
        octaves += _noise(seed, stream, _FAST + part, seconds, _FAST_NOISE)
    quiet = below(draw(seed, stream, _QUIET, 0, seconds // _BLOCK_SECONDS + 1), _QUIET_ONE_IN) == 0
    weights: IntArray = _powers()[np.clip(octaves, _LOWEST, _HIGHEST) - _LOWEST]
    weights[quiet[second // _BLOCK_SECONDS]] = 0
    return weights


def _peak(session: Session, seed: int, day: int) -> IntArray:
    """Return int64[seconds]: trades of the peak second and its neighbours; 0 for all others."""
    seconds = session.seconds
    place = seconds // 4 + int(
        below(draw(seed, _FIRST_DAY + day, _PEAK, 0, 1), max(1, seconds // 2))[0]
    )
    seconds_away = np.abs(np.arange(seconds, dtype=np.int64) - place)
    return np.where(seconds_away <= _BURST, session.peak_eps >> np.minimum(seconds_away, _BURST), 0)


@lru_cache(maxsize=1)
def _powers() -> IntArray:
    """Return 16 x 2^(i / 64), by decimal arithmetic, since `pow` may differ between machines."""
    context = Context(prec=24)
    step = context.power(Decimal(2), Decimal(1) / _OCTAVE)
    count = _HIGHEST - _LOWEST + 1
    return np.array([int(16 * context.power(step, index)) for index in range(count)], np.int64)


@lru_cache(maxsize=4)
def distances(session: Session, seed: int, day: int) -> IntArray:
    """Return int64[companies, seconds]: distance from the average, in 2^-20 of the average."""
    lowest, highest = session.gap // 2, 2 * session.gap
    width = max(1, highest - lowest)
    stream, walks = _FIRST_DAY + day, []
    for company in range(session.companies):
        steps = _noise(
            seed, stream, _WALK + company, session.seconds, max(1, session.gap // _STEPS)
        )
        start = int(below(draw(seed, stream, _WALK + company, -1, 0), width)[0])
        folded = (start + np.cumsum(steps)) % (2 * width)
        walks.append(lowest + np.minimum(folded, 2 * width - folded))
    result = np.array(walks)
    result.flags.writeable = False
    return result


def averages(session: Session, seed: int, day: int) -> IntArray:
    """Return int64[companies]: average prices of the day before, 40.00 to 400.00, in cents."""
    bits = draw(seed, _FIRST_DAY + day, _AVERAGE, 0, session.companies)
    return 4_000 + below(bits, 36_001)


def side(seed: int, day: int) -> int:
    """Return 1 if the market is above its average on this day, -1 if it is below."""
    return 1 - 2 * int(below(draw(seed, _FIRST_DAY + day, _SIDE, 0, 1), 2)[0])


def _noise(seed: int, stream: int, lane: int, count: int, most: int) -> IntArray:
    """Return whole numbers uniform in [-most, most]."""
    return below(draw(seed, stream, lane, 0, count), 2 * most + 1) - most
