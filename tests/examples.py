"""The number of random examples that a test draws: an eighth of them in `make test`, all in `make test-all`.

tests/conftest.py says which, by whether `-m ''` is given. Tests that name no number of examples
draw that share of the default. No example has a deadline: on a busy machine any may take its time,
and tests/too_long.py lists what takes too long.
"""

from hypothesis import settings

ALL = settings.default.max_examples


def examples(number):
    """Return how many of a number of examples to draw: at least one."""
    return max(1, number * settings.default.max_examples // ALL)


def everything():
    """Whether all are drawn."""
    return settings.default.max_examples == ALL


def draw(share):
    """Draw this share of all examples from now on."""
    settings.register_profile("share", deadline=None, max_examples=int(ALL * share))
    settings.load_profile("share")
