"""Decides in two stages whether the new arm is worse than the old one.

Stage one screens all cells with an exact one-sided test over fresh processes (Mann-Whitney, or signed-rank
for pairs under equal loads), Benjamini-Hochberg over the cells, and a floor for the effect.
A cell that fails stage one is measured again from scratch; only a second failure is a regression.
Two stages at 5 % raise fewer false alarms than one stage at 1 %, and detect more (rates: docs/gates.md).
Any other cell passes if its values exclude a change of `Rule.unstable_above`; else it is `unstable`.

Values are costs (seconds, joules, instructions): larger is worse. For rates, pass the reciprocals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count

import numpy as np

from streamlab.results.stats.methods import INDEPENDENT, Method
from streamlab.results.stats.noise import DRAWS, UNSTABLE_ABOVE, Noise

Key = tuple[str, str]
"""A cell and a metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The parameters of a decision.

    Attributes:
        n: fresh processes per arm and stage.
        alpha: level of each test.
        q: false discovery rate over the cells of a stage.
        floor: effects up to this share are no change.
        noise_factor: effects up to this many times the A/A noise (`Noise.mad`) are no change either.
        unstable_above: an unchanged cell is `unstable` if its values do not exclude a change of this
            share, or if its A/A 95th percentile is larger.
        draws: number of resamples for the noise.
    """

    n: int = 10
    alpha: float = 0.05
    q: float = 0.05
    floor: float = 0.02
    noise_factor: float = 2.0
    unstable_above: float = UNSTABLE_ABOVE
    draws: int = DRAWS


TWO_STAGE = Rule()
ONE_STAGE = Rule(alpha=0.01, q=0.01, floor=0.03)
"""Rule for stored runs, whose cells cannot be measured again."""

MISSED = 0.025
"""Probability that one stage wrongly excludes a change; for two stages at most twice as high."""


class GateVerdict(StrEnum):
    """The verdict on a cell."""

    REGRESSION = "regression"
    UNCONFIRMED = "not confirmed"
    SUSPECT = "suspect"
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    UNSTABLE = "unstable"
    TOO_FEW = "too few"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """The costs of one cell in both arms: one value per fresh process, above 0.

    Attributes:
        old, new: the costs; for a paired method, equal indices are a pair.
        method: the method of comparison.
    """

    old: tuple[float, ...]
    new: tuple[float, ...]
    method: Method = INDEPENDENT


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """The result of one stage for a cell.

    Attributes:
        n_old, n_new: number of values in each arm.
        too_few: whether so few values cannot be significant among the stage's tests, even in the
            clearest order.
        ratio: new / old: the ratio of medians, or for pairs the Hodges-Lehmann estimate.
        p_worse: p-value of a slowdown, adjusted over the cells of the stage.
        noise: A/A noise of `ratio` with the same number of values.
        floor: effects up to this share are no change.
        worse, better: whether the test is significant and the effect exceeds the floor.
        excludes: whether the values exclude a slowdown of `Rule.unstable_above`: the noise is
            smaller, and the exact test rejects a slowdown of this share.
    """

    n_old: int
    n_new: int
    too_few: bool
    ratio: float
    p_worse: float
    noise: Noise
    floor: float
    worse: bool
    better: bool
    excludes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision on one cell and metric; `second` is None without a second stage."""

    key: Key
    verdict: GateVerdict
    first: StageResult
    second: StageResult | None = None


def screen(cells: Mapping[Key, Arms], rule: Rule, rng: np.random.Generator) -> tuple[Decision, ...]:
    """Return the decisions of the first stage. The caller measures the `suspect` cells again.

    Each cell has at least one value in each arm; `rng` draws for the noise.
    """
    findings = []
    for key, stage in _run_stage(cells, rule, rng).items():
        if stage.too_few:
            verdict = GateVerdict.TOO_FEW
        elif stage.worse:
            verdict = GateVerdict.SUSPECT
        elif stage.better:
            verdict = GateVerdict.IMPROVED
        elif stage.excludes:
            verdict = GateVerdict.UNCHANGED
        else:
            verdict = GateVerdict.UNSTABLE
        findings.append(Decision(key=key, verdict=verdict, first=stage))
    return tuple(findings)


def suspects(findings: Sequence[Decision]) -> tuple[Key, ...]:
    """Return the cells to measure again."""
    return tuple(finding.key for finding in findings if finding.verdict is GateVerdict.SUSPECT)


def confirm(
    findings: Sequence[Decision],
    seconds: Mapping[Key, Arms],
    rule: Rule,
    rng: np.random.Generator,
) -> tuple[Decision, ...]:
    """Decide every suspect by its second, independent measurement, and return all decisions.

    A measurement clears a suspect only if it excludes a change. If it neither excludes nor confirms a change,
    the suspect is `unstable`, since the first stage gave evidence of a change.

    `seconds` has the second measurement of every suspect, without values of the first stage.

    Raises:
        ValueError: a suspect is missing.
    """
    missing = [key for key in suspects(findings) if key not in seconds]
    if missing:
        raise ValueError(f"no second measurement of {missing}")
    stages = _run_stage({key: seconds[key] for key in suspects(findings)}, rule, rng)

    def decide(finding: Decision) -> Decision:
        second = stages.get(finding.key)
        if second is None:
            return finding
        verdict = GateVerdict.UNCONFIRMED if second.excludes else GateVerdict.UNSTABLE
        verdict = GateVerdict.REGRESSION if second.worse else verdict
        return replace(finding, second=second, verdict=verdict)

    return tuple(map(decide, findings))


def decide_once(
    cells: Mapping[Key, Arms], rule: Rule, rng: np.random.Generator
) -> tuple[Decision, ...]:
    """Return the decisions of a single stage, where a suspect counts as a regression."""
    return tuple(
        replace(finding, verdict=GateVerdict.REGRESSION)
        if finding.verdict is GateVerdict.SUSPECT
        else finding
        for finding in screen(cells, rule, rng)
    )


def values_needed(tests: int, rule: Rule, method: Method = INDEPENDENT) -> int:
    """Return the fewest values per arm with which one regression among `tests` can be significant.

    Rule `TWO_STAGE` needs 4 values for one test and 9 for a thousand. `ONE_STAGE` is stricter: 5 for one test.
    """
    return next(n for n in count(1) if not _is_undecidable(method.smallest_p(n, n), tests, rule))


def _run_stage(
    cells: Mapping[Key, Arms], rule: Rule, rng: np.random.Generator
) -> dict[Key, StageResult]:
    from scipy.stats import false_discovery_control  # heavy

    worse = [arms.method.p(arms.old, arms.new, "greater") for arms in cells.values()]
    better = [arms.method.p(arms.old, arms.new, "less") for arms in cells.values()]
    worse_q, better_q = false_discovery_control(worse), false_discovery_control(better)
    return {
        key: _test_cell(
            arms,
            rule,
            rng,
            tests=len(cells),
            p_values=(worse[index], better[index]),
            q_values=(float(worse_q[index]), float(better_q[index])),
        )
        for index, (key, arms) in enumerate(cells.items())
    }


def _is_undecidable(smallest_p: float, tests: int, rule: Rule) -> bool:
    return smallest_p >= rule.alpha or smallest_p * tests > rule.q


def _test_cell(
    arms: Arms,
    rule: Rule,
    rng: np.random.Generator,
    *,
    tests: int,
    p_values: tuple[float, float],
    q_values: tuple[float, float],
) -> StageResult:
    method, n_old, n_new = arms.method, len(arms.old), len(arms.new)
    noise = method.noise(arms.old, arms.new, rng, rule.draws)
    ratio = method.ratio(arms.old, arms.new)
    floor = max(rule.floor, rule.noise_factor * noise.mad)
    as_much_worse = np.multiply(arms.old, 1 + rule.unstable_above)
    p_excluded = method.p(as_much_worse, arms.new, "less")
    is_significant = [
        p < rule.alpha and q <= rule.q for p, q in zip(p_values, q_values, strict=True)
    ]
    return StageResult(
        n_old=n_old,
        n_new=n_new,
        too_few=_is_undecidable(method.smallest_p(n_old, n_new), tests, rule),
        ratio=ratio,
        p_worse=q_values[0],
        noise=noise,
        floor=floor,
        worse=is_significant[0] and ratio > 1 + floor,
        better=is_significant[1] and ratio < 1 / (1 + floor),
        excludes=p_excluded < MISSED and not noise.is_unstable(rule.unstable_above),
    )
