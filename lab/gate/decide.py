"""Holds a gate over cells: correctness first, then the two-stage decision on each metric."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.gate.metrics import Metric
from lab.gate.outcome import Line, Word
from results import schema
from results.stats.decision import (
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
from results.stats.intervals import ratio_interval

Result = Mapping[str, Any]

SEED = 1
"""Of the resampling; a gate on the same values always says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The trials of one cell in both arms, each a row of the schema (columns may be missing)."""

    old: Sequence[Result]
    new: Sequence[Result]


Measure = Callable[[Sequence[str]], Mapping[str, Pair]]
"""Measures the named cells anew in both arms, interleaved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCriteria:
    """What is gated.

    Attributes:
        metrics: the costs.
        advisory: names of those that are shown and never fail.
        rule: the numbers of the decision.
    """

    metrics: Sequence[Metric]
    advisory: frozenset[str]
    rule: Rule


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
    rng = np.random.default_rng(SEED)
    lines: dict[str, list[Line]] = {cell: _correctness(cell, pair) for cell, pair in first.items()}
    sound = {cell: pair for cell, pair in first.items() if not lines[cell]}
    groups = [
        [metric for metric in criteria.metrics if (metric.name in criteria.advisory) == advisory]
        for advisory in (False, True)
    ]
    # Advisory metrics are a family of their own: they must not dilute what is gated.
    families = [_arms(sound, group) for group in groups]
    if again is None:
        found = [decide_once(family, criteria.rule, rng) for family in families]
        seconds: dict[Key, Arms] = {}
    else:
        found = [screen(family, criteria.rule, rng) for family in families]
        wanted = dict.fromkeys(key[0] for family in found for key in suspects(family))
        measured = again(tuple(wanted)) if wanted else {}
        for cell, pair in measured.items():
            lines[cell] = [line for line in _correctness(cell, pair) if line.word is Word.BROKEN]
        seconds = _arms(measured, criteria.metrics)
        found = [_confirm(family, seconds, criteria.rule, rng) for family in found]
    by_key = {finding.key: finding for family in found for finding in family}
    first_arms = {key: arms for family in families for key, arms in family.items()}
    for cell in sound:
        for metric in criteria.metrics:
            advisory = metric.name in criteria.advisory
            finding = by_key.get((cell, metric.name))
            if finding is None and lines[cell] and lines[cell][0].word is Word.BROKEN:
                continue  # Broke in the second stage: there is nothing to confirm.
            if finding is None:
                note = f"a trial has no {metric.name}: {metric.about}"
                word = Word.NO_NUMBER
                lines[cell].append(
                    Line(cell=cell, metric=metric.name, word=word, advisory=advisory, note=note)
                )
                continue
            arms = seconds if finding.second is not None else first_arms
            lines[cell].append(_line(finding, arms[finding.key], advisory, rng))
    return tuple(line for cell in first for line in lines[cell])


def _correctness(cell: str, pair: Pair) -> list[Line]:
    """Return a line when either arm has a trial without a verified answer, else none."""
    old, new = _unverified(pair.old), _unverified(pair.new)
    if old is None and new is None:
        return []
    if old is None:
        word, note = Word.BROKEN, f"new: {new}"
    elif new is None:
        word, note = Word.FIXED, f"old: {old}"
    elif _refused(pair.old) and _refused(pair.new):
        word, note = Word.UNSUPPORTED, f"new: {new}"
    else:
        word, note = Word.NO_NUMBER, f"not verified in either arm; new: {new}"
    return [Line(cell=cell, metric="", word=word, note=note)]


def _unverified(results: Sequence[Result]) -> str | None:
    if not results:
        return "no trial"
    for result in results:
        if result.get("status") not in schema.VERIFIED:
            reason = (result.get("reason") or "no reason").splitlines()[0]
            return f"{result.get('status')}: {reason}"
    return None


def _refused(results: Sequence[Result]) -> bool:
    return any(result.get("status") == schema.UNSUPPORTED for result in results)


def _arms(pairs: Mapping[str, Pair], metrics: Sequence[Metric]) -> dict[Key, Arms]:
    """Return the costs by cell and metric, without those that a trial lacks."""
    found: dict[Key, Arms] = {}
    for cell, pair in pairs.items():
        for metric in metrics:
            old, new = _costs(pair.old, metric), _costs(pair.new, metric)
            if old is not None and new is not None:
                found[(cell, metric.name)] = Arms(old=old, new=new)
    return found


def _costs(results: Sequence[Result], metric: Metric) -> tuple[float, ...] | None:
    if any(result.get("status") not in schema.VERIFIED for result in results):
        return None
    costs = [metric.cost(result) for result in results]
    known = tuple(cost for cost in costs if cost is not None)
    return known if known and len(known) == len(costs) else None


def _confirm(
    findings: tuple[Decision, ...], again: Mapping[Key, Arms], rule: Rule, rng: np.random.Generator
) -> tuple[Decision, ...]:
    """Confirm what has a second measurement; a cell that lacks one has a broken line of its own."""
    lost = {key for key in suspects(findings) if key not in again}
    kept = tuple(finding for finding in findings if finding.key not in lost)
    return confirm(kept, again, rule, rng)


def _line(finding: Decision, arms: Arms, advisory: bool, rng: np.random.Generator) -> Line:
    stage = finding.second or finding.first
    word = {
        GateVerdict.REGRESSION: Word.REGRESSION,
        GateVerdict.UNCONFIRMED: Word.UNCONFIRMED,
        GateVerdict.UNCHANGED: Word.UNCHANGED,
        GateVerdict.IMPROVED: Word.IMPROVED,
        GateVerdict.UNSTABLE: Word.UNSTABLE,
        GateVerdict.TOO_FEW: Word.TOO_FEW,
    }[finding.verdict]
    return Line(
        cell=finding.key[0],
        metric=finding.key[1],
        word=word,
        advisory=advisory,
        n=min(stage.n_old, stage.n_new),
        ratio=stage.ratio,
        interval=ratio_interval(arms.old, arms.new, rng),
        first_ratio=finding.first.ratio if finding.second is not None else None,
        p=stage.p_worse,
        floor=stage.floor,
        noise=stage.noise.p95,
    )
