"""Orders statuses of trials, and tests whether the new arm has worse statuses than the old arm.

`ORDER` is the order from best to worst.
`FAULTS` are faults of the program: machine noise cannot cause them, so one trial suffices.
Other statuses may be chance. They need an exact test at every level of the order that occurs (Fisher
1935, "The Logic of Inductive Inference", J. R. Stat. Soc. 98:39).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from streamlab.results import schema

ORDER = (
    schema.OK,
    schema.IMPORTED,
    schema.UNSTEADY,
    schema.UNSUSTAINED,
    schema.INVALID,
    schema.TIMEOUT,
    schema.OOM,
    schema.UNSUPPORTED,
    schema.CRASH,
    schema.WRONG_OUTPUT,
)
"""From best to worst. A wrong answer is worse than no answer: users would believe it."""

FAULTS = frozenset({schema.UNSUPPORTED, schema.CRASH, schema.WRONG_OUTPUT})

MISSED = 0.025
"""Probability that `excludes` holds although two in three trials have become worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTest:
    """The result of one stage.

    Attributes:
        p: p-value of the clearest level, times the number of levels (Bonferroni).
        worse: whether the new arm's statuses are worse.
        excludes: whether the trials exclude a change that users would notice: a worse status in at least
            two of three trials, which the old arm had in less than half of its trials.
        differs: whether any level occurs more often in the new arm.
    """

    p: float
    worse: bool
    excludes: bool
    differs: bool


def level(status: str | None, steady: str | None = None) -> int:
    """Return the index of a trial's status in `ORDER`; an unknown status counts as a crash.

    `steady` is the trial's column of this name. It decides for catch-up trials: unsteady ones have the status ok.
    """
    if status == schema.OK and steady == schema.UNSTEADY:
        status = schema.UNSTEADY
    return ORDER.index(status if status in ORDER else schema.CRASH)


def compare_statuses(old: Sequence[int], new: Sequence[int], alpha: float) -> StatusTest:
    """Test whether the new arm's statuses are worse.

    `old` and `new` have the `level` of each trial, at least one trial each.

    Example: no trial of the old arm has a worse status. With ten trials per arm, four or more worse trials
    in the new arm are significant at 0.05, and up to three exclude a change that users would notice. With
    four trials per arm, four worse trials are significant, and no number excludes such a change.
    """
    levels = sorted({*old, *new} - {0})
    counts = [
        (sum(x >= threshold for x in old), sum(x >= threshold for x in new)) for threshold in levels
    ]
    p = min([1.0, *(len(levels) * _fisher(a, len(old), b, len(new)) for a, b in counts)])
    return StatusTest(
        p=p,
        worse=p < alpha,
        excludes=all(
            b * len(old) <= a * len(new)
            or 2 * a >= len(old)
            or _chance_of_at_most(b, len(new)) < MISSED
            for a, b in counts
        ),
        differs=any(b * len(old) > a * len(new) for a, b in counts),
    )


def _fisher(a: int, n: int, b: int, m: int) -> float:
    """Return the probability that at least `b` of the a + b worse trials are among the m new of n + m trials."""
    worse = a + b
    ways = sum(comb(m, k) * comb(n, worse - k) for k in range(b, min(worse, m) + 1))
    return ways / comb(n + m, worse)


def _chance_of_at_most(b: int, m: int) -> float:
    """Return the binomial probability of at most `b` worse trials among m, if two in three are worse."""
    return float(sum(comb(m, k) * 2**k for k in range(b + 1)) / 3**m)
