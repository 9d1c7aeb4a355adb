"""Pairwise covering: `make test` tries every pair of values, `make test-all` every combination."""

from itertools import combinations

import pytest


def pairs(row):
    """Return the pairs of values of a row, each with its two places."""
    return set(combinations(enumerate(row), 2))


def covering(rows):
    """Return the indices of rows that together hold every pair of values that any row holds.

    Greedy: next is the row with the most pairs that are still missing, the first of equals. The
    same rows give the same choice.
    """
    missing = set().union(*map(pairs, rows))
    chosen = []
    while missing:
        best = max(range(len(rows)), key=lambda index: len(pairs(rows[index]) & missing))
        missing -= pairs(rows[best])
        chosen.append(best)
    return sorted(chosen)


def pairwise(rows, names=str):
    """Return parameters for all rows, of which those outside the covering are marked `full`.

    Args:
        rows: tuples of as many values each, hashable.
        names: what a value is called in a test's name.
    """
    kept = set(covering(rows))
    return [
        pytest.param(
            *row,
            id="-".join(map(names, row)),
            marks=() if index in kept else pytest.mark.full,
        )
        for index, row in enumerate(rows)
    ]
