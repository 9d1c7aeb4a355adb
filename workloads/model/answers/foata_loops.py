"""Compiles the loops of `foata`, in a module that is imported only when needed.

Importing Numba takes 0.2 s of processor time, and most answers are equal row by row without it.
"""

import numba
import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.streams.stream import IntArray

HashArray = npt.NDArray[np.uint64]


@numba.njit(cache=True, nogil=True)
def _mix(x: np.uint64) -> np.uint64:
    """Finalize as MurmurHash3 does with Stafford's variant 13 constants (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def fold(low: HashArray, high: HashArray, column: HashArray) -> None:
    """Fold a column into the two hashes of each row, in place.

    Multiplying by an odd number (here of MurmurHash3) keeps different values different.
    """
    for i in range(len(column)):
        value = column[i]
        low[i] = _mix(low[i] ^ (value * np.uint64(0xFF51AFD7ED558CCD) + np.uint64(1)))
        high[i] = _mix(high[i] + (value ^ np.uint64(0xC4CEB9FE1A85EC53)) * np.uint64(3))


@numba.njit(cache=True, nogil=True)
def advance(
    kinds: IntArray,
    keys: IntArray,
    same: npt.NDArray[np.bool_],
    other: npt.NDArray[np.bool_],
    last: IntArray,
    best: IntArray,
    level: IntArray,
) -> None:
    """Fill `level` for one chunk of rows; update `last` and `best`, which carry over to the next chunk.

    `last[key, kind]` is the highest level so far. `best[kind]` is (highest level of the kind, a key that
    has it, highest level in other keys). For `kinds` to `other`, see `foata.Relation`.
    """
    for i in range(len(kinds)):
        kind, key = kinds[i], keys[i]
        top = 0
        for b in range(len(same)):
            if same[kind, b]:
                top = max(top, last[key, b])
            if other[kind, b]:
                top = max(top, best[b, 2] if best[b, 1] == key else best[b, 0])
        top += 1
        level[i] = top
        last[key, kind] = max(last[key, kind], top)
        if best[kind, 1] == key:
            best[kind, 0] = max(best[kind, 0], top)
        elif top > best[kind, 0]:
            best[kind, 2] = best[kind, 0]
            best[kind, 0], best[kind, 1] = top, key
        else:
            best[kind, 2] = max(best[kind, 2], top)
