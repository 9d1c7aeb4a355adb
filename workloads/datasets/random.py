"""Draws counter-based random numbers: row i of a stream depends only on (seed, stream, lane, i).

SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) mixes the
values of a counter, so any range of rows can be drawn without the rows before it. Only integer
arithmetic modulo 2^64 is used, so the numbers are the same on every machine. Not for secrets.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]

_MASK = 2**64 - 1
# Constants of SplitMix64.
_GAMMA = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_FINAL_SHIFT = 31
_RESOLUTION_BITS = 63
"""Thresholds are multiples of 2^-63 in the unit interval."""


def draw(seed: int, stream: int, lane: int, begin: int, end: int) -> Bits:
    """Return 64 random bits for each of the rows [begin, end) of a stream.

    Args:
        seed: any integer; only its low 64 bits count.
        stream: index of the stream.
        lane: distinguishes several draws for the same row, e.g. one for each column.
        begin: first row.
        end: one past the last row.
    """
    return _mix(seed, stream, lane, np.arange(begin + 1, end + 1, dtype=np.uint64))


def draw_at(seed: int, stream: int, lane: int, rows: npt.NDArray[np.int64]) -> Bits:
    """Return the result of `draw` for each of these rows, in any order; rows may be negative."""
    return _mix(seed, stream, lane, rows.astype(np.uint64) + np.uint64(1))


def _mix(seed: int, stream: int, lane: int, bits: Bits) -> Bits:
    """Turn counters (row number plus 1) into random bits, in place."""
    start = seed & _MASK
    for part in (stream, lane):
        start = _mix_one((start + _GAMMA) & _MASK) ^ part
    start = _mix_one((start + _GAMMA) & _MASK)
    bits *= np.uint64(_GAMMA)
    bits += np.uint64(start)
    for shift, factor in _MIX:
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(_FINAL_SHIFT)
    return bits


def _mix_one(value: int) -> int:
    for shift, factor in _MIX:
        value = ((value ^ (value >> shift)) * factor) & _MASK
    return value ^ (value >> _FINAL_SHIFT)


def below(bits: Bits, limit: int) -> npt.NDArray[np.int64]:
    """Map random bits to integers in [0, limit), `limit` at most 2^32.

    The relative difference between the probabilities of two integers is at most limit / 2^32.
    """
    if not 1 <= limit <= 2**32:
        raise ValueError(f"limit must be within 1 and 2^32, got {limit}")
    return (((bits >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32)).astype(np.int64)


def below_each(bits: Bits, limits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Map random bits to integers in [0, limit), with a limit per element, at most 2^32."""
    return (((bits >> np.uint64(32)) * limits.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)


def zipf(bits: Bits, keys: int, exponent: float) -> npt.NDArray[np.int64]:
    """Map random bits to keys in [0, keys); the probability of key k is proportional to 1 / (k + 1)^exponent."""
    if keys == 1:
        return np.zeros(len(bits), dtype=np.int64)
    if exponent == 0.0:
        return below(bits, keys)
    return choose(bits, zipf_thresholds(keys, exponent))


@lru_cache(maxsize=8)
def zipf_thresholds(keys: int, exponent: float) -> Bits:
    """Return the cumulative probability up to each key but the last, in units of 2^-63.

    Powers use decimal arithmetic. Floating-point `pow` may differ in the last bit between machines, and
    then their data would differ.
    """
    context = Context(prec=24)
    power = Decimal(repr(-exponent))
    scale = Decimal(10) ** 18
    weights = [int(context.power(Decimal(key), power) * scale) for key in range(1, keys + 1)]
    return thresholds(weights)


def thresholds(weights: Sequence[int]) -> Bits:
    """Return the cumulative probability up to each choice but the last, in units of 2^-63; read-only."""
    total = sum(weights)
    bounds = [(upto << _RESOLUTION_BITS) // total for upto in accumulate(weights[:-1])]
    table = np.array(bounds, dtype=np.uint64)
    table.flags.writeable = False
    return table


def choose(bits: Bits, bounds: Bits) -> npt.NDArray[np.int64]:
    """Map random bits to choices, given their `thresholds`."""
    choices = np.searchsorted(bounds, bits >> np.uint64(64 - _RESOLUTION_BITS), side="right")
    return choices.astype(np.int64, copy=False)
