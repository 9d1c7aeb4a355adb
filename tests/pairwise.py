"""Coverings of products: `make test` tries some combinations, `make test-all` each of them.

`@pytest.mark.pairwise` on a test with several parameters leaves in `make test` so many of its
combinations that every pair of values is tried; with `strength=1`, that every value is. The others
are marked `full`. `@pytest.mark.some(3)` leaves three that lie evenly among all, the first with
them: for parameters that try one law on other examples.
"""

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


def evenly(number, rows):
    """Return the indices of so many rows that lie evenly among them, with the first."""
    return (
        {index * rows // number for index in range(number)} if number < rows else set(range(rows))
    )


def mark_left_out(items):
    """Mark `full` what marked tests leave out of what no other mark has left out."""
    tests = {}
    for item in items:
        for marker in (item.get_closest_marker(name) for name in ("pairwise", "some")):
            if marker is not None and item.get_closest_marker("full") is None:
                tests.setdefault((item.fspath, item.originalname), (marker, []))[1].append(item)
    for marker, products in tests.values():
        if marker.name == "some":
            kept = evenly(*marker.args, len(products))
        else:
            rows = [tuple(map(value_of, item.callspec.params.values())) for item in products]
            kept = set(covering(rows, **marker.kwargs))
        for index, item in enumerate(products):
            if index not in kept:
                item.add_marker(pytest.mark.full)
