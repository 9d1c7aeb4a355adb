"""Holds a gate over cells: statuses first, then the two-stage decision on each metric."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from streamlab.lab.gate.metrics import Metric, Result
from streamlab.lab.gate.outcome import Line, Word
from streamlab.lab.gate.status import (
    StatusFinding,
    fault_line,
    find_status,
    is_verified,
    status_line,
)
from streamlab.results.stats.decision import (
    Arms,
    Decision,
    GateVerdict,
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
"""Of the resampling; a gate on the same values always says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The trials of one cell in both arms, each a row of the schema (columns may be missing).

    Attributes:
        old, new: the trials.
        like_loads: trials at the same place ran one after the other, under a load with equal due
            times: their latencies are compared in pairs.
    """

    old: Sequence[Result]
    new: Sequence[Result]
    like_loads: bool = False


Measure = Callable[[Sequence[str]], Mapping[str, Pair]]
"""Measures the named cells anew in both arms, interleaved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCriteria:
    """What is gated.

    Attributes:
        metrics: the costs.
        advisory: names of those that are shown and never fail.
        where_repeated: names of those that fail a gate, and cast no doubt where they do not repeat.
        rule: the numbers of the decision.
    """

    metrics: Sequence[Metric]
    advisory: frozenset[str]
    where_repeated: frozenset[str] = frozenset()
    rule: Rule

    def families(self) -> list[list[Metric]]:
        """Return the metrics that share a correction for many tests.

        What may cast no doubt must not dilute what does.
        """
        gated = [m for m in self.metrics if m.name not in self.advisory | self.where_repeated]
        return [
            gated,
            [m for m in self.metrics if m.name in self.where_repeated - self.advisory],
            [m for m in self.metrics if m.name in self.advisory],
        ]


def hold(
    first: Mapping[str, Pair], again: Measure | None, criteria: GateCriteria
) -> tuple[Line, ...]:
    """Return the lines of a gate.

    Args:
        first: the first stage by cell.
        again: called at most once, with the cells under suspicion; None where nothing can be
            measured again: then one stage decides alone.
        criteria: what is gated.
    """
    rng, rule = np.random.default_rng(SEED), criteria.rule
    faults = {cell: fault_line(cell, pair) for cell, pair in first.items()}
    sound = {cell: pair for cell, pair in first.items() if faults[cell] is None}
    statuses = {cell: find_status(pair, rule.alpha) for cell, pair in sound.items()}
    families = [_arms(sound, family) for family in criteria.families()]
    seconds: dict[Key, Arms] = {}
    measured: Mapping[str, Pair] = {}
    if again is None:
        found = [decide_once(family, rule, rng) for family in families]
    else:
        found = [screen(family, rule, rng) for family in families]
        worse = [cell for cell, status in statuses.items() if status.test.worse]
        suspected = [key[0] for family in found for key in suspects(family)]
        wanted = [cell for cell in sound if cell in {*worse, *suspected}]
        measured = again(tuple(wanted)) if wanted else {}
        seconds = _arms(measured, criteria.metrics)
        found = [_confirm(family, seconds, rule, rng) for family in found]
    firsts = {key: arms for family in families for key, arms in family.items()}
    decisions = {finding.key: finding for family in found for finding in family}
    lines: list[Line] = []
    for cell in first:
        fault = faults[cell]
        if fault is not None:
            lines.append(fault)
            continue
        own = _statuses(cell, statuses[cell], measured.get(cell), rule)
        failed = any(line.fails for line in own)
        for metric in criteria.metrics:
            finding = decisions.get((cell, metric.name))
            if finding is not None:
                arms = (firsts if finding.second is None else seconds)[finding.key]
                own.append(_line(finding, arms, criteria, rng))
            elif not failed:
                own += _without_number(cell, (first[cell], measured.get(cell)), metric, criteria)
        lines += own
    return tuple(lines)


def _statuses(cell: str, first: StatusFinding, measured: Pair | None, rule: Rule) -> list[Line]:
    """Return the line on a sound cell's statuses, if any; of the second stage where it decides."""
    second = None
    if measured is not None:
        fault = fault_line(cell, measured)
        if fault is not None and fault.word is Word.BROKEN:
            return [fault]
        if first.test.worse:
            second = find_status(measured, rule.alpha)
    line = status_line(cell, first, second)
    return [] if line is None else [line]


def _arms(pairs: Mapping[str, Pair], metrics: Sequence[Metric]) -> dict[Key, Arms]:
    """Return the costs by cell and metric, without those that a trial lacks."""
    found: dict[Key, Arms] = {}
    for cell, pair in pairs.items():
        for metric in metrics:
            old, new = _costs(pair.old, metric), _costs(pair.new, metric)
            if old is not None and new is not None:
                paired = pair.like_loads and metric.quantile is not None
                method = PAIRED if paired else INDEPENDENT
                found[(cell, metric.name)] = Arms(old=old, new=new, method=method)
    return found


def _costs(results: Sequence[Result], metric: Metric) -> tuple[float, ...] | None:
    if not all(map(is_verified, results)):
        return None
    costs = [metric.cost(result) for result in results]
    known = tuple(cost for cost in costs if cost is not None)
    return known if known and len(known) == len(costs) else None


def _confirm(
    findings: tuple[Decision, ...], again: Mapping[Key, Arms], rule: Rule, rng: np.random.Generator
) -> tuple[Decision, ...]:
    """Confirm what has a second measurement; a cell that lacks one has a line that says why."""
    lost = {key for key in suspects(findings) if key not in again}
    kept = tuple(finding for finding in findings if finding.key not in lost)
    return confirm(kept, again, rule, rng)


def _without_number(
    cell: str, stages: tuple[Pair, Pair | None], metric: Metric, criteria: GateCriteria
) -> list[Line]:
    """Return the line of a metric without a number; none where no trial has what is not asked for.

    What is gated only where it repeats is no doubt: a catch-up has no latency.
    """
    trials = [result for pair in stages if pair is not None for result in (*pair.old, *pair.new)]
    unverified = next((result for result in trials if not is_verified(result)), None)
    if unverified is None:
        note = f"a trial has no {metric.name}: {metric.about}"
    else:
        note = f"a trial has no verified answer: {unverified.get('status')}"
    word = Word.NO_NUMBER
    if metric.name in criteria.where_repeated:
        if all(metric.cost(result) is None for result in trials):
            return []
        word = Word.NOT_GATED
    advisory = metric.name in criteria.advisory
    return [Line(cell=cell, metric=metric.name, word=word, advisory=advisory, note=note)]


_WORDS = {
    GateVerdict.REGRESSION: Word.REGRESSION,
    GateVerdict.UNCONFIRMED: Word.UNCONFIRMED,
    GateVerdict.UNCHANGED: Word.UNCHANGED,
    GateVerdict.IMPROVED: Word.IMPROVED,
    GateVerdict.UNSTABLE: Word.UNSTABLE,
    GateVerdict.TOO_FEW: Word.TOO_FEW,
}


def _line(finding: Decision, arms: Arms, criteria: GateCriteria, rng: np.random.Generator) -> Line:
    cell, metric = finding.key
    stage = finding.second or finding.first
    line = Line(
        cell=cell,
        metric=metric,
        word=_WORDS[finding.verdict],
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
        line = replace(line, note=_difference(arms))
    if metric in criteria.where_repeated and line.word in (Word.UNSTABLE, Word.TOO_FEW):
        why = _does_not_repeat(line, criteria.rule)
        return replace(line, word=Word.NOT_GATED, note="; ".join(filter(None, (why, line.note))))
    return line


def _difference(arms: Arms) -> str:
    """Return what a quantile of latency is in both arms of pairs, and their difference."""
    old, new = (f"{median(each) / NS_PER_MS:.3g} ms" for each in (arms.old, arms.new))
    found = pair_difference_interval(arms.old, arms.new)
    words = f"{old} -> {new}, difference {pair_difference(arms.old, arms.new) / NS_PER_MS:+.3g} ms"
    if found is None:
        return words
    low, high = (f"{end / NS_PER_MS:+.3g}" for end in (found.low, found.high))
    return f"{words} ({found.coverage:.0%}: {low} to {high})"


def _does_not_repeat(line: Line, rule: Rule) -> str:
    """Return why a metric is not gated in a cell."""
    if line.word is Word.TOO_FEW:
        return f"not gated: {line.n} trials a side are too few to call anything"
    change = f"{rule.unstable_above:.0%}"
    return (
        f"not gated: does not repeat: its A/A differences reach {line.noise or 0:.1%} (95th "
        f"percentile), and its values do not exclude a change of {change}"
    )
