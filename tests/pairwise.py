"""Coverings of products: `make test` tries some combinations, `make test-all` each of them.

`@pytest.mark.pairwise` on a test with several parameters leaves in `make test` so many of its
combinations that every pair of values is tried; with `strength=1`, that every value is. The others
are marked `full`. `@pytest.mark.some(3)` leaves three: for parameters that try one law on other
examples. They have as many values as three can have, and the first combination is one of them.
"""

from collections import Counter
from itertools import combinations

import pytest


def covering(rows, strength=2):
    """Return the indices of rows that together hold all that any row holds of so many places.

    Greedy: next is the row with the most that is still missing, the first of equals. The same rows
    give the same choice.
    """
    held = [set(combinations(enumerate(row), min(strength, len(row)))) for row in rows]
    missing = set().union(*held)
    chosen = []
    while missing:
        best = max(range(len(rows)), key=lambda index: len(held[index] & missing))
        missing -= held[best]
        chosen.append(best)
    return sorted(chosen)


def value_of(param):
    """Return what tells a parameter from others: itself, or of an object which one it is."""
    return param if isinstance(param, str | int | float | None) else id(param)


def spread(number, rows):
    """Return the indices of so many rows in which each value comes about as often as another.

    Next is the row whose values have come least often; of equals the one that is nearest to its
    place among rows that lie evenly. The same rows give the same choice.
    """
    used = Counter()
    left = set(range(len(rows)))
    for turn in range(min(number, len(rows))):
        place = turn * len(rows) // number

        def worth(index, place=place):
            return sum(used[held] for held in enumerate(rows[index])), abs(index - place), index

        best = min(left, key=worth)
        left.remove(best)
        used.update(enumerate(rows[best]))
    return set(range(len(rows))) - left


def mark_left_out(items):
    """Mark `full` what marked tests leave out of what no other mark has left out."""
    tests = {}
    for item in items:
        for marker in (item.get_closest_marker(name) for name in ("pairwise", "some")):
            if marker is not None and item.get_closest_marker("full") is None:
                tests.setdefault((item.fspath, item.originalname), (marker, []))[1].append(item)
    for marker, products in tests.values():
        rows = [tuple(map(value_of, item.callspec.params.values())) for item in products]
        if marker.name == "some":
            kept = spread(*marker.args, rows)
        else:
            kept = set(covering(rows, **marker.kwargs))
        for index, item in enumerate(products):
            if index not in kept:
                item.add_marker(pytest.mark.full)
