"""Decides a gate on cells: statuses first, then each metric in two stages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from streamlab.lab.gate.metrics import Metric, Pair, TrialResult
from streamlab.lab.gate.outcome import Line, Verdict
from streamlab.lab.gate.status import (
    StatusFinding,
    fault_line,
    find_status,
    has_numbers,
    status_line,
)
from streamlab.results.stats.decision import (
    Arms,
    Decision,
    Key,
    Rule,
    confirm,
    decide_once,
    screen,
    suspects,
)
from streamlab.results.stats.methods import INDEPENDENT, PAIRED
from streamlab.results.stats.pairs import pair_difference, pair_difference_interval

NS_PER_MS = 1e6

SEED = 1
"""Seed of the resampling, so that equal values give the same decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCriteria:
    """The metrics of a gate and its rule.

    Attributes:
        metrics: all compared metrics.
        advisory: names of metrics that are shown but never fail.
        if_repeatable: names of metrics that can fail a gate, but never make it inconclusive.
    """

    metrics: Sequence[Metric]
    advisory: frozenset[str]
    if_repeatable: frozenset[str] = frozenset()
    rule: Rule

    def families(self) -> list[list[Metric]]:
        """Return the groups of metrics that share a correction for multiple tests.

        Groups are separate, so that optional and advisory metrics do not weaken the test of gated
        metrics.
        """
        gated_metrics = [
            m for m in self.metrics if m.name not in self.advisory | self.if_repeatable
        ]
        return [
            gated_metrics,
            [m for m in self.metrics if m.name in self.if_repeatable - self.advisory],
            [m for m in self.metrics if m.name in self.advisory],
        ]


def decide_gate(
    first: Mapping[str, Pair],
    measure_again: Callable[[Sequence[str]], Mapping[str, Pair]] | None,
    criteria: GateCriteria,
) -> tuple[Line, ...]:
    """Decide a gate and return its lines.

    `measure_again` measures suspected cells in both arms, interleaved. It is called at most once.
    If it is None, the first stage decides.
    """
    rng, rule = np.random.default_rng(SEED), criteria.rule
    faults = {cell: fault_line(cell, pair) for cell, pair in first.items()}
    sound = {cell: pair for cell, pair in first.items() if faults[cell] is None}
    statuses = {cell: find_status(pair, rule.alpha) for cell, pair in sound.items()}
    families = [_collect_arms(sound, family) for family in criteria.families()]
    second_arms: dict[Key, Arms] = {}
    measured: Mapping[str, Pair] = {}
    if measure_again is None:
        findings = [decide_once(family, rule, rng) for family in families]
    else:
        findings = [screen(family, rule, rng) for family in families]
        worse = [cell for cell, status in statuses.items() if status.test.worse]
        suspect_cells = [key[0] for family in findings for key in suspects(family)]
        repeated_cells = [cell for cell in sound if cell in {*worse, *suspect_cells}]
        measured = measure_again(tuple(repeated_cells)) if repeated_cells else {}
        second_arms = _collect_arms(measured, criteria.metrics)
        findings = [_confirm(family, second_arms, rule, rng) for family in findings]
    first_arms = {key: arms for family in families for key, arms in family.items()}
    decisions = {finding.key: finding for family in findings for finding in family}
    lines: list[Line] = []
    for cell in first:
        fault = faults[cell]
        if fault is not None:
            lines.append(fault)
            continue
        cell_lines = _make_status_lines(cell, statuses[cell], measured.get(cell), rule)
        has_failure = any(line.fails for line in cell_lines)
        for metric in criteria.metrics:
            finding = decisions.get((cell, metric.name))
            if finding is not None:
                arms = (first_arms if finding.second is None else second_arms)[finding.key]
                cell_lines.append(_make_line(finding, arms, criteria, rng))
            elif not has_failure:
                cell_lines += _missing_value_lines(
                    cell, (first[cell], measured.get(cell)), metric, criteria
                )
        lines += cell_lines
    return tuple(lines)


def _make_status_lines(
    cell: str, first: StatusFinding, measured: Pair | None, rule: Rule
) -> list[Line]:
    """Return the line, if any, on the statuses of a cell that has no fault."""
    second_finding = None
    if measured is not None:
        fault = fault_line(cell, measured)
        if fault is not None and fault.word is Verdict.BROKEN:
            return [fault]
        if first.test.worse:
            second_finding = find_status(measured, rule.alpha)
    line = status_line(cell, first, second_finding)
    return [] if line is None else [line]


def _collect_arms(pairs: Mapping[str, Pair], metrics: Sequence[Metric]) -> dict[Key, Arms]:
    """Return the costs by cell and metric; omits a metric if any trial of the cell lacks a value."""
    arms: dict[Key, Arms] = {}
    for cell, pair in pairs.items():
        for metric in metrics:
            old, new = _costs(pair.old, metric), _costs(pair.new, metric)
            if old is not None and new is not None:
                is_paired = pair.same_load and metric.quantile is not None
                method = PAIRED if is_paired else INDEPENDENT
                arms[(cell, metric.name)] = Arms(old=old, new=new, method=method)
    return arms


def _costs(results: Sequence[TrialResult], metric: Metric) -> tuple[float, ...] | None:
    if not all(map(has_numbers, results)):
        return None
    costs = [metric.cost(result) for result in results]
    present = tuple(cost for cost in costs if cost is not None)
    return present if present and len(present) == len(costs) else None


def _confirm(
    findings: tuple[Decision, ...],
    second_arms: Mapping[Key, Arms],
    rule: Rule,
    rng: np.random.Generator,
) -> tuple[Decision, ...]:
    """Confirm the findings with a second measurement.

    Omits suspects without a second measurement, which `_missing_value_lines` reports.
    """
    unconfirmed = {key for key in suspects(findings) if key not in second_arms}
    confirmable = tuple(finding for finding in findings if finding.key not in unconfirmed)
    return confirm(confirmable, second_arms, rule, rng)


def _missing_value_lines(
    cell: str, stages: tuple[Pair, Pair | None], metric: Metric, criteria: GateCriteria
) -> list[Line]:
    """Return the line of a metric without a value in some trial.

    An `if_repeatable` metric without a value in any trial gets no line: catch-up trials have no
    latency.
    """
    trials = [result for pair in stages if pair is not None for result in (*pair.old, *pair.new)]
    bad_result = next((result for result in trials if not has_numbers(result)), None)
    if bad_result is None:
        note = f"a trial has no {metric.name}: {metric.about}"
    else:
        note = f"a trial has no verified answer: {bad_result.status}"
    word = Verdict.NO_NUMBER
    if metric.name in criteria.if_repeatable:
        if all(metric.cost(result) is None for result in trials):
            return []
        word = Verdict.NOT_GATED
    advisory = metric.name in criteria.advisory
    return [Line(cell=cell, metric=metric.name, word=word, advisory=advisory, note=note)]


def _make_line(
    finding: Decision, arms: Arms, criteria: GateCriteria, rng: np.random.Generator
) -> Line:
    cell, metric = finding.key
    stage = finding.second or finding.first
    line = Line(
        cell=cell,
        metric=metric,
        word=Verdict(finding.verdict.value),
        advisory=metric in criteria.advisory,
        n=min(stage.n_old, stage.n_new),
        paired=arms.method is PAIRED,
        ratio=stage.ratio,
        interval=arms.method.interval(arms.old, arms.new, rng),
        first_ratio=finding.first.ratio if finding.second is not None else None,
        p=stage.p_worse,
        floor=stage.floor,
        noise=stage.noise.p95,
    )
    if line.paired:
        line = replace(line, note=_describe_difference(arms))
    if metric in criteria.if_repeatable and line.word in (Verdict.UNSTABLE, Verdict.TOO_FEW):
        reason = _explain_not_gated(line, criteria.rule)
        note = "; ".join(filter(None, (reason, line.note)))
        return replace(line, word=Verdict.NOT_GATED, note=note)
    return line


def _describe_difference(arms: Arms) -> str:
    """Return, as text, a latency quantile's medians in both arms and the difference over pairs."""
    old, new = (f"{median(each) / NS_PER_MS:.3g} ms" for each in (arms.old, arms.new))
    interval = pair_difference_interval(arms.old, arms.new)
    words = f"{old} -> {new}, difference {pair_difference(arms.old, arms.new) / NS_PER_MS:+.3g} ms"
    if interval is None:
        return words
    low, high = (f"{end / NS_PER_MS:+.3g}" for end in (interval.low, interval.high))
    return f"{words} ({interval.coverage:.0%}: {low} to {high})"


def _explain_not_gated(line: Line, rule: Rule) -> str:
    """Return why a metric cannot be gated in a cell."""
    if line.word is Verdict.TOO_FEW:
        return f"not gated: {line.n} trials per arm are too few for a decision"
    change = f"{rule.unstable_above:.0%}"
    return (
        f"not gated: does not repeat: A/A differences reach {line.noise or 0:.1%} (95th "
        f"percentile), and the values do not exclude a change of {change}"
    )
