"""Statuses of trials: which is worse, and whether one arm's are worse than the other's.

The order, from best to worst, is `ORDER`. One of `FAULTS` is the program's: no noise of a machine
makes it, so that one trial suffices. The others may be bad luck, and are counted: an exact test
(Fisher 1935, "The Logic of Inductive Inference", J. R. Stat. Soc. 98:39) at every level of the
order that occurs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from streamlab.results import schema

ORDER = (
    schema.OK,
    schema.UNSTEADY,
    schema.UNSUSTAINED,
    schema.INVALID,
    schema.TIMEOUT,
    schema.OOM,
    schema.UNSUPPORTED,
    schema.CRASH,
    schema.WRONG_OUTPUT,
)
"""From best to worst. A wrong answer is worse than none: it is believed."""

FAULTS = frozenset({schema.UNSUPPORTED, schema.CRASH, schema.WRONG_OUTPUT})

MISSED = 0.025
"""How often `excludes` may hold though two trials in three have become worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTest:
    """What one stage found.

    Attributes:
        p: of the clearest level, times the number of levels (Bonferroni).
        worse: whether the new arm's statuses are worse.
        excludes: whether a change that a user feels would have been seen: a worse status in at
            least two trials of three, where the old arm had it in less than half.
        differs: whether any level occurs more often in the new arm.
    """

    p: float
    worse: bool
    excludes: bool
    differs: bool


def level(status: str | None, steady: str | None = None) -> int:
    """Return the place of a trial in `ORDER`.

    Args:
        status: of the trial; one that is not known counts as a crash.
        steady: column `steady`: an unsteady catch-up has the status ok.
    """
    if status == schema.OK and steady == schema.UNSTEADY:
        status = schema.UNSTEADY
    return ORDER.index(status if status in ORDER else schema.CRASH)


def compare_statuses(old: Sequence[int], new: Sequence[int], alpha: float) -> StatusTest:
    """Return whether the new arm's statuses are worse.

    With ten trials a side and none worse in the old arm, four or more are called at 0.05, up to
    three exclude a change that a user feels. With four a side, four are called and none excludes.

    Args:
        old: `level` of each trial, at least one.
        new: likewise.
        alpha: of the test.
    """
    levels = sorted({*old, *new} - {0})
    counts = [(sum(x >= bar for x in old), sum(x >= bar for x in new)) for bar in levels]
    p = min([1.0, *(len(levels) * _fisher(a, len(old), b, len(new)) for a, b in counts)])
    return StatusTest(
        p=p,
        worse=p < alpha,
        excludes=all(
            b * len(old) <= a * len(new) or 2 * a >= len(old) or _rare(b, len(new)) < MISSED
            for a, b in counts
        ),
        differs=any(b * len(old) > a * len(new) for a, b in counts),
    )


def _fisher(a: int, n: int, b: int, m: int) -> float:
    """Return the chance of at least `b` of the a + b worse trials among m of n + m."""
    worse = a + b
    ways = sum(comb(m, k) * comb(n, worse - k) for k in range(b, min(worse, m) + 1))
    return ways / comb(n + m, worse)


def _rare(b: int, m: int) -> float:
    """Return the chance of at most `b` worse trials of m where two in three are: binomial."""
    return float(sum(comb(m, k) * 2**k for k in range(b + 1)) / 3**m)
