"""Sums floats exactly in a state's field, with the same result in any order and any grouping.

Declare the field as `("total", np.int64, EXACT_SUM)`: an array of integers that holds the sum without
rounding. `add_exactly` splits each float into pieces of 32 bits and adds them to the integers of their
places. `round_sum` rounds once, to the nearest float.

This is Kulisch's long accumulator, in the form of R. M. Neal, Fast Exact Summation Using Small
and Large Superaccumulators (2015, arXiv:1505.05571, section 2). Neal moves carries up from time to
time; here `round_sum` does, so that equal numbers always make equal integers. A place has 31 spare
bits, enough for 2^30 numbers. Plain Python and compiled code give the same result.
"""

import math
from typing import Any

_BITS = 32
"""Bits of a place."""
_MASK = (1 << _BITS) - 1
_MANTISSA = 53
"""Bits of a float's mantissa."""
_LEAST = -1074
"""The exponent of the smallest float above 0."""

_LOWEST = _LEAST - _MANTISSA + 1
"""The exponent of the lowest bit of the first place; subnormal floats end in zeros."""

_HIGHEST = 1024
"""Finite floats are below 2^1024."""

_PLACES = (_HIGHEST - _MANTISSA - _LOWEST) // _BITS + 3
"""Number of places: the largest float begins at the quotient, and a float has bits in three places."""
_NAN, _PLUS, _MINUS = _PLACES, _PLACES + 1, _PLACES + 2
"""The indices after the places: they count NaN, inf and -inf."""

EXACT_SUM = (_PLACES + 3,)
"""Shape of the field, of type int64: 568 bytes."""

_HEAD = 62
"""Leading bits from which `round_sum` rounds; of all lower bits it keeps only whether any is set."""


def add_exactly(field: Any, value: Any) -> None:
    """Add a float, or an integer that a float holds exactly, to a field; zeros are the empty sum."""
    if value != value:
        field[_NAN] += 1
    elif value - value != 0:
        field[_PLUS if value > 0 else _MINUS] += 1
    else:
        fraction, exponent = math.frexp(value)
        whole = int(math.ldexp(abs(fraction), _MANTISSA))
        place = exponent - _MANTISSA - _LOWEST
        shift = place % _BITS
        place = place // _BITS
        sign = -1 if fraction < 0 else 1
        low = (whole & _MASK) << shift
        high = ((whole >> _BITS) << shift) | (low >> _BITS)
        field[place] += sign * (low & _MASK)
        field[place + 1] += sign * (high & _MASK)
        field[place + 2] += sign * (high >> _BITS)


def join_sums(first: Any, second: Any, field: Any) -> None:
    """Set a field to the sum of two other fields."""
    for index in range(len(field)):
        field[index] = first[index] + second[index]


def clear_sum(field: Any) -> None:
    """Set a field to the empty sum."""
    for index in range(len(field)):
        field[index] = 0


def round_sum(field: Any) -> float:
    """Return the sum, rounded to the nearest float, ties to even; never -0.0.

    A NaN, or both inf and -inf, give NaN. A sum beyond all floats gives inf or -inf.
    """
    if field[_NAN] > 0 or (field[_PLUS] > 0 and field[_MINUS] > 0):
        return math.nan
    if field[_PLUS] > 0 or field[_MINUS] > 0:
        return math.inf if field[_PLUS] > 0 else -math.inf
    carry = 0
    for index in range(_PLACES):
        carry = (field[index] + carry) >> _BITS
    sign = -1 if carry < 0 else 1
    # Scan the digits of the magnitude from the lowest on. Remember the last nonzero digit, the two
    # below it, and whether any digit below these is nonzero.
    carry = before = earlier = rest = 0
    top, first, second, third, below = -1, 0, 0, 0, 0
    for index in range(_PLACES + 1):
        if index < _PLACES:
            carry += sign * field[index]
        digit = carry & _MASK
        carry >>= _BITS
        if digit != 0:
            top, first, second, third, below = index, digit, before, earlier, rest
        rest |= earlier
        earlier = before
        before = digit
    if top < 0:
        return 0.0
    bits = math.frexp(float(first))[1]
    spare = _HEAD - _BITS - bits  # bits of the third digit in the head
    head = first << (_HEAD - bits)
    if spare >= 0:
        head |= (second << spare) | (third >> (_BITS - spare))
        below |= third & ((1 << (_BITS - spare)) - 1)
    else:
        head |= second >> -spare
        below |= third | (second & ((1 << -spare) - 1))
    exponent = _BITS * top + bits - _HEAD + _LOWEST
    dropped = max(_HEAD - _MANTISSA, _LEAST - exponent)
    mantissa = head >> dropped
    tail = head & ((1 << dropped) - 1)
    half = 1 << (dropped - 1)
    if tail > half or (tail == half and (below != 0 or mantissa % 2 == 1)):
        mantissa += 1
    exponent += dropped
    if exponent > _HIGHEST - _MANTISSA or (
        exponent == _HIGHEST - _MANTISSA and mantissa == 1 << _MANTISSA
    ):
        return sign * math.inf
    return sign * math.ldexp(float(mantissa), exponent)
