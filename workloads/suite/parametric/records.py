"""Records of the parametric pipeline, and the arithmetic that its operators and oracle agree on.

All words of payload are below 2^30, so that no product of two of them, nor the sum of two such
products, leaves 64 bits: plain Python, NumPy and compiled code compute the same.
"""

import numpy as np

RECORD = "record"

EVENT = np.dtype([("id", np.int64), ("key", np.int64), ("x0", np.int64)])
"""What is read: a number that no other record has, a key, and one word of payload."""

KEY_SPACE = 1 << 16
"""Keys are in [0, KEY_SPACE)."""

MASK = (1 << 30) - 1

MATRIX = ((0x1B873593, 0x2545F490), (0x19D699A5, 0x2127599B))
"""The square matrix that a record's vector is multiplied with; odd determinant modulo 2^30, so that
nothing is lost however often that is done."""

ID_MASK = (1 << 31) - 1
HASH_MASK = (1 << 32) - 1
SALT, FIRST_FACTOR, SECOND_FACTOR = 0x9E37, 0x9E3779B1, 0x45D9F3B
FIRST_SHIFT, SECOND_SHIFT = 15, 16
"""Of the hash by which an operator decides which records it leaves out."""


def output(words: int) -> np.dtype[np.void]:
    """Return the dtype of forwarded records with so many words of payload, at least 1."""
    payload = [(f"x{word}", np.int64) for word in range(words)]
    return np.dtype([("ts", np.int64), ("id", np.int64), ("key", np.int64), *payload])
