"""Finds, for oracles, all pairs of a left and a right tuple that are close in time. Memory is bounded."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

CHUNK_ROWS = 1 << 15
"""Maximum number of left rows of a chunk."""
BLOCK_PAIRS = 1 << 21
"""Maximum number of pairs in a block: 32 MiB for two int64 indices, unless a single row has more."""


class Chunk(NamedTuple):
    """Left rows [left_begin, left_end), and the right rows [right_begin, right_end) that may be close in time."""

    left_begin: int
    left_end: int
    right_begin: int
    right_end: int


def chunks(left_ts: IntArray, right_ts: IntArray, size: int) -> Iterator[Chunk]:
    """Split the left sequence into chunks, each with the right rows at most `size` away from a left row.

    Both must be sorted. A chunk has at most `CHUNK_ROWS` rows. If it covers several instants, it spans at
    most `size`, so at least half of its candidates are near enough.
    """
    begin = 0
    while begin < len(left_ts):
        reach_end = int(np.searchsorted(left_ts, left_ts[begin] + size, side="right"))
        end = min(begin + CHUNK_ROWS, reach_end)
        yield Chunk(
            begin,
            end,
            int(np.searchsorted(right_ts, left_ts[begin] - size, side="left")),
            int(np.searchsorted(right_ts, left_ts[end - 1] + size, side="right")),
        )
        begin = end


def expand_ranges(first: IntArray, last: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield all (i, p) with first[i] <= p < last[i] as two arrays, block by block.

    A block has at most `BLOCK_PAIRS` pairs, or only the pairs of one i.
    """
    lengths = np.maximum(last - first, 0)
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(first):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + BLOCK_PAIRS, side="right")))
        block_lengths = lengths[begin:end]
        rows = np.repeat(np.arange(begin, end, dtype=np.int64), block_lengths)
        starts = ends[begin:end] - block_lengths - before
        yield (
            rows,
            np.arange(len(rows), dtype=np.int64)
            - np.repeat(starts - first[begin:end], block_lengths),
        )
        begin = end


def concatenate_pairs(parts: Iterable[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Concatenate the pairs of all parts into two arrays."""
    first, second = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for left, right in parts:
        first.append(left)
        second.append(right)
    return np.concatenate(first), np.concatenate(second)
