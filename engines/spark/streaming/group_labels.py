"""Computes group labels that Spark's hash partitioning spreads evenly over partitions.

Spark puts a group into partition `hash(label) mod n`, with Murmur3. Small numbers collide: for two or four
partitions, 0 and 1 go to the same partition. A label whose hash is i modulo 840 goes to partition i modulo n for
every n that divides 840, which includes all n up to 8.
"""

from itertools import count

PERIOD = 840
_MASK = 0xFFFFFFFF
_SEED = 42


def labels(groups: int) -> tuple[int, ...]:
    """Return one int32 label per group."""
    by_residue: dict[int, int] = {}
    places = min(groups, PERIOD)
    for label in count():
        place = murmur3(label) % PERIOD
        if place < places:
            by_residue.setdefault(place, label)
        if len(by_residue) == places:
            break
    # Beyond the period any unused label serves.
    rest = (label for label in count() if label not in set(by_residue.values()))
    return tuple(by_residue[i] if i < places else next(rest) for i in range(groups))


def murmur3(value: int) -> int:
    """Return Spark SQL's `hash` of one int, signed 32-bit (Murmur3 x86-32, seed 42, one block)."""
    block = value * 0xCC9E2D51 & _MASK
    block = (block << 15 | block >> 17) & _MASK
    state = _SEED ^ (block * 0x1B873593 & _MASK)
    state = (state << 13 | state >> 19) & _MASK
    state = (state * 5 + 0xE6546B64 & _MASK) ^ 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state
