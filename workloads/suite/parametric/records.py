"""Defines the records of the parametric pipeline, and constants of its arithmetic.

All words of payload are below 2^30. Products of two words, and sums of two such products, therefore
fit 64 bits, and plain Python, NumPy and compiled code compute the same.
"""

import numpy as np

RECORD = "record"

EVENT = np.dtype([("id", np.int64), ("key", np.int64), ("x0", np.int64)])
"""Input record: a unique id, a key, and one word of payload."""

KEY_SPACE = 1 << 16
"""Keys are in [0, KEY_SPACE)."""

MASK = (1 << 30) - 1

MATRIX = ((0x1B873593, 0x2545F490), (0x19D699A5, 0x2127599B))
"""The matrix by which a record's vector is multiplied. Its determinant is odd, so it is invertible
modulo 2^30 and no information is lost."""

ID_MASK = (1 << 31) - 1
HASH_MASK = (1 << 32) - 1
SALT, FIRST_FACTOR, SECOND_FACTOR = 0x9E37, 0x9E3779B1, 0x45D9F3B
FIRST_SHIFT, SECOND_SHIFT = 15, 16
"""Constants of the hash by which an operator drops records."""


def output(words: int) -> np.dtype[np.void]:
    """Return the dtype of forwarded records with `words` words of payload, at least 1."""
    payload = [(f"x{word}", np.int64) for word in range(words)]
    return np.dtype([("ts", np.int64), ("id", np.int64), ("key", np.int64), *payload])
