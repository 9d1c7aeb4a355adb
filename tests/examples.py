"""How many random examples a test draws: a third of them in `make test`, all in `make test-all`.

The profile of Hypothesis says which: tests/conftest.py loads the smaller one unless `-m ''` is
given. Tests that name no number of examples get that of the profile.
"""

from hypothesis import settings

ALL = settings.default.max_examples
QUICK = "quick"
settings.register_profile(QUICK, max_examples=ALL // 3)


def examples(number):
    """Return how many of a number of examples to draw: at least one."""
    return max(1, number * settings.default.max_examples // ALL)
