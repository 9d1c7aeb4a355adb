"""A case from a seed, and the smallest that fails as it does: Hypothesis does both.

A seed makes the bytes that Hypothesis takes its choices from (`fuzz_one_input`), so a seed of a
family is always the same case, whatever else has run, as long as its strategies stay as they are.
"""

import random
import time
from collections.abc import Callable
from contextlib import suppress

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import InMemoryExampleDatabase

from tests.random_runs.case import Case, Family

CHOICES = 1 << 16
"""Bytes: more than any case takes."""
ATTEMPTS = 100
"""At a case that Hypothesis finds neither too large nor unfit."""


def drawn(family: Family, seed: int) -> Case:
    """Return the case of a family that a seed stands for."""
    found: list[Case] = []

    @settings(database=None)
    @given(family.cases)
    def take(case: Case) -> None:
        found.append(case)

    _choose(take, family, seed)
    return found[0]


def smallest(
    family: Family,
    seed: int,
    fails: Callable[[Case], bool],
    within_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> Case | None:
    """Return the smallest case found within some seconds that fails, as that of the seed does.

    None where that of the seed does not fail.
    """
    end = clock() + within_s
    failed: list[Case] = []

    @settings(
        database=InMemoryExampleDatabase(),
        phases=[Phase.reuse, Phase.shrink],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(family.cases)
    def holds(case: Case) -> None:
        if clock() < end and fails(case):
            failed.append(case)
            raise _FailsError

    with suppress(_FailsError):
        _choose(holds, family, seed)
    if failed:
        # What fails now and then, or was out of time, Hypothesis calls flaky: the last one counts.
        with suppress(Exception):
            holds()
    return failed[-1] if failed else None


class _FailsError(Exception):
    pass


def _choose(test: Callable[[], None], family: Family, seed: int) -> None:
    # Of some hundred draws, Hypothesis gives up one as too large: then the seed's next bytes.
    for attempt in range(ATTEMPTS):
        source = f"{family.name} {seed} {attempt}" if attempt else f"{family.name} {seed}"
        choices = random.Random(source).randbytes(CHOICES)
        if test.hypothesis.fuzz_one_input(choices) is not None:  # type: ignore[attr-defined]
            return
    raise RuntimeError(f"{family.name}, seed {seed}: {ATTEMPTS} draws, and no case")
