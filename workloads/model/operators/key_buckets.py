"""Assigns keys to buckets, which the mapping f_mu assigns to instances.

The bucket of a key never changes the answer; it only determines which instance does the work.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.operators.program import Operator
from streamlab.workloads.model.streams.stream import IntArray

_WORD = (1 << 64) - 1


def hash_key(key: int) -> int:
    """Return a 64-bit hash of a key: the mixing step of splitmix64 (Steele, Lea, Flood 2014).

    A bijection; hashes of different keys differ in every bit with a probability near one half. The
    multicore engine has the same function (`mix_key`).
    """
    x = (key + 0x9E3779B97F4A7C15) & _WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _WORD
    return x ^ (x >> 31)


def hash_keys(keys: IntArray) -> npt.NDArray[np.uint64]:
    """Return `hash_key` of each key."""
    x = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bucket_of(operator: Operator, key: int) -> int:
    """Return the bucket of a key, in [0, `operator.buckets`)."""
    code = hash_key(key) if operator.bucket is None else operator.bucket(key)
    return code % operator.buckets
