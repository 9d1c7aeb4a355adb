"""Computes the expected records, operator by operator, each in closed form.

- n products with a matrix are one product with its n-th power, by squaring.
- Word k of a state is 2k + 1 times the sum of the key's numbers so far. With n words, the sum of
  the words is n^2 times that sum.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL
from streamlab.workloads.suite.parametric.settings import (
    EVENT,
    FIRST_FACTOR,
    FIRST_SHIFT,
    HASH_MASK,
    ID_MASK,
    MASK,
    MATRIX,
    SALT,
    SECOND_FACTOR,
    SECOND_SHIFT,
    Setting,
)

IntArray = npt.NDArray[np.int64]
Matrix = tuple[tuple[int, int], tuple[int, int]]


def oracle(data: Input, settings: tuple[Setting, ...]) -> Columns:
    """Return (ts, id, key, words) in total order."""
    events = total_order(data, EVENT)
    head = {"ts": events.ts, "id": events.payload["id"], "key": events.payload["key"]}
    columns = {name: values.astype(np.int64) for name, values in head.items()}
    words = [events.payload["x0"].astype(np.int64)]
    for setting in settings:
        columns, words = _apply(setting, columns, words)
    return {**columns, **{f"x{k}": word for k, word in enumerate(words)}}


def _apply(
    setting: Setting, columns: dict[str, IntArray], words: list[IntArray]
) -> tuple[dict[str, IntArray], list[IntArray]]:
    """Return the columns and words that one operator forwards."""
    number = np.zeros(len(columns["ts"]), dtype=np.int64)
    for k, word in enumerate(words):
        number += (2 * k + 1) * (word & MASK)
    number &= MASK
    if setting.kind == PARTITIONED:
        number = _state_sum(number, columns["key"], setting.state_words)
    elif setting.kind == STATEFUL:
        number = _state_sum(number, np.zeros_like(number), setting.state_words)
    (p00, p01), (p10, p11) = power(MATRIX, setting.iterations)
    a, b = number & MASK, columns["id"] & MASK
    result = (((p00 * a + p01 * b) & MASK) + ((p10 * a + p11 * b) & MASK)) & MASK
    rows = np.flatnonzero(_hashes(columns["id"] + result, setting.index) < setting.keep_below)
    rows = np.repeat(rows, setting.copies)
    copy = np.arange(len(rows), dtype=np.int64) % setting.copies
    forwarded = {name: values[rows] for name, values in columns.items()}
    forwarded["id"] = forwarded["id"] * setting.copies + copy
    return forwarded, [result[rows] ^ k for k in range(setting.tuple_words)]


def _state_sum(number: IntArray, key: IntArray, words: int) -> IntArray:
    """Return, after each record, the sum of the words of its key's state."""
    order = np.argsort(key, kind="stable")
    sums = np.cumsum(number[order])
    first = np.flatnonzero(np.diff(key[order], prepend=key[order][:1] - 1))
    sums_before = (sums - number[order])[first]
    sums -= np.repeat(sums_before, np.diff(first, append=len(order)))
    total = np.empty_like(number)
    total[order] = sums
    return (total & MASK) * (words * words & MASK) & MASK


def _hashes(number: IntArray, index: int) -> IntArray:
    h = (number + index * SALT) & ID_MASK
    h = (h * FIRST_FACTOR) & HASH_MASK
    h ^= h >> FIRST_SHIFT
    h = (h * SECOND_FACTOR) & HASH_MASK
    return h ^ (h >> SECOND_SHIFT)


def power(matrix: Matrix, exponent: int) -> Matrix:
    """Return a power of a 2 x 2 matrix modulo 2^30."""
    result: Matrix = ((1, 0), (0, 1))
    while exponent:
        if exponent & 1:
            result = _product(result, matrix)
        matrix = _product(matrix, matrix)
        exponent >>= 1
    return result


def _product(left: Matrix, right: Matrix) -> Matrix:
    (a, b), (c, d) = left
    (e, f), (g, h) = right
    return (
        ((a * e + b * g) & MASK, (a * f + b * h) & MASK),
        ((c * e + d * g) & MASK, (c * f + d * h) & MASK),
    )
