"""Defines functions on the array fields of a state: sets, the largest values, and histograms for percentiles.

The reference engine runs them as plain Python; other engines compile them.

- The largest values are an array with their number first, then the values in descending order.
- A set of at most n integers is a hash table. Elements 0 and 1 are the number of values and whether 0 is a value.
  The slots follow, a power of two above 2 n; a slot of 0 is empty.
- A histogram has a counter for negative values and a counter for values from 0 to its range. Then `steps` counters of
  equal width follow for each power of two, and a counter for values above its range. Its arithmetic is exact, so that
  every engine counts a value alike.
"""

import math
from typing import Any


def set_shape(most: int) -> tuple[int]:
    """Return the shape of a set of at most `most` integers, of type int64."""
    return ((1 << (2 * most).bit_length()) + 2,)


def insert(field: Any, value: Any) -> int:
    """Insert an integer into a set that is not full; return the number of values."""
    if value == 0:
        field[0] += 1 - field[1]
        field[1] = 1
        return int(field[0])
    mask = len(field) - 3
    place = (value ^ (value >> 9) ^ (value >> 23)) & mask
    while field[2 + place] != 0 and field[2 + place] != value:
        place = (place + 1) & mask
    if field[2 + place] == 0:
        field[2 + place] = value
        field[0] += 1
    return int(field[0])


def contains(field: Any, value: Any) -> bool:
    """Return whether a set has an integer."""
    if value == 0:
        return bool(field[1] != 0)
    mask = len(field) - 3
    place = (value ^ (value >> 9) ^ (value >> 23)) & mask
    while field[2 + place] != 0 and field[2 + place] != value:
        place = (place + 1) & mask
    return bool(field[2 + place] != 0)


def size_of(field: Any) -> int:
    """Return the number of values of a set, or of the largest values."""
    return int(field[0])


def insert_largest(field: Any, value: Any) -> None:
    """Insert a number into the largest values; drop the smallest value if there is no room."""
    count = int(field[0])
    place = count
    while place > 0 and (field[place] < value or field[place] != field[place]):  # NaN is the least
        place -= 1
    if place == len(field) - 1:
        return
    if count < len(field) - 1:
        count += 1
        field[0] = count
    while count > place + 1:
        field[count] = field[count - 1]
        count -= 1
    field[place + 1] = value


def largest_at(field: Any, place: int) -> Any:
    """Return a value by its place, from 0 for the largest, or from -1 for the smallest."""
    count = int(field[0])
    index = place + count if place < 0 else place
    if index < 0 or index >= count:
        raise IndexError(
            "LargestValues has fewer values than the place that is read; test len(...) first"
        )
    return field[index + 1]


def bin_of(value: float, steps: int, lowest: int, octaves: int, high: float) -> int:
    """Return the counter of a value in a histogram from 2**lowest to `high`, below 2**(lowest + octaves)."""
    if value < 0:
        return 0
    if not value <= high:  # also of NaN
        return 2 + octaves * steps
    fraction, exponent = math.frexp(value)
    octave = exponent - 1 - lowest
    if octave < 0 or value == 0:
        return 1
    return 2 + octave * steps + int((fraction - 0.5) * (2 * steps))


def value_at(field: Any, rank: int, steps: int, lowest: int) -> float:
    """Return the middle of the bin that holds the value of a rank, counted from 1."""
    place = -1
    values_so_far = 0
    while values_so_far < rank:
        place += 1
        values_so_far += field[place]
    if place == 0:
        return -math.inf
    if place == 1:
        return math.ldexp(0.5, lowest)
    if place == len(field) - 1:
        return math.inf
    octave = (place - 2) // steps
    step = (place - 2) % steps
    return math.ldexp(1.0 + (step + 0.5) / steps, lowest + octave)


def clear(field: Any) -> None:
    """Set all elements of a field to zero."""
    for index in range(len(field)):
        field[index] = 0
