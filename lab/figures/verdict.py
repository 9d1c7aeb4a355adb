"""Judges a figure: each claim of the paper by itself, and the figure by a stated rule.

A claim is of one of two kinds. A `value` claim is met when the measured number lies within its
tolerance of the published one. A `shape` claim is about order or growth: who is faster, whether a
curve rises. A claim that this machine, or this run, cannot answer is not comparable, with the
reason; it is never counted as met or missed.

The rule, first that applies:

1. no claim could be judged: not comparable
2. a shape claim was missed: contradicted
3. every claim was judged and met: reproduced
4. a shape claim was judged, thus met: shape only
5. a value claim was missed: contradicted
6. otherwise values were met, and something is not comparable: shape only
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

VALUE, SHAPE = "value", "shape"
MET, MISSED, NOT_COMPARABLE = "met", "missed", "not comparable"

REPRODUCED = "reproduced"
SHAPE_ONLY = "shape only"
CONTRADICTED = "contradicted"
VERDICTS = (REPRODUCED, SHAPE_ONLY, CONTRADICTED, NOT_COMPARABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim of the paper, judged.

    Attributes:
        text: what the paper says, in our words.
        kind: VALUE or SHAPE.
        published: its number, as text.
        source: where the paper says it.
        outcome: MET, MISSED or NOT_COMPARABLE.
        measured: what was measured, as text; empty where nothing was.
        reason: by which bound it was judged, or why it could not be.
    """

    text: str
    kind: str
    published: str
    source: str
    outcome: str
    measured: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to be said of a figure: one of VERDICTS, and why."""

    verdict: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A claim before it is judged; `blocked` says why it cannot be, None if it can."""

    text: str
    published: str
    source: str
    blocked: str | None = None

    def near(
        self, measured: float | None, low: float, high: float, tolerance: float, unit: str = ""
    ) -> Claim:
        """Judge a value claim: within `tolerance` (a share) of [low, high], both above 0."""
        bounds = (low * (1 - tolerance), high * (1 + tolerance))
        within = f"from {_written(bounds[0], unit)} to {_written(bounds[1], unit)}"
        return self._judge(VALUE, measured, bounds, f"{tolerance:.0%} tolerance: {within}", unit)

    def at_most(self, measured: float | None, limit: float, unit: str = "") -> Claim:
        """Judge a value claim with an upper bound."""
        return self._judge(
            VALUE, measured, (-math.inf, limit), f"at most {_written(limit, unit)}", unit
        )

    def at_least(
        self, measured: float | None, limit: float, unit: str = "", kind: str = VALUE
    ) -> Claim:
        """Judge a claim with a lower bound."""
        return self._judge(
            kind, measured, (limit, math.inf), f"at least {_written(limit, unit)}", unit
        )

    def shape(self, measured: float | None, low: float, high: float, unit: str = "") -> Claim:
        """Judge a claim on order or growth: the measured number lies in [low, high]."""
        parts = [
            f"{word} {_written(bound, unit)}"
            for word, bound in (("at least", low), ("at most", high))
            if math.isfinite(bound)
        ]
        return self._judge(SHAPE, measured, (low, high), " and ".join(parts), unit)

    def _judge(
        self,
        kind: str,
        measured: float | None,
        bounds: tuple[float, float],
        bound: str,
        unit: str,
    ) -> Claim:
        reason = self.blocked
        if reason is None and (measured is None or math.isnan(measured)):
            reason = "there is no verified number for it"
        if reason is not None:
            outcome = NOT_COMPARABLE
        else:
            assert measured is not None
            outcome = MET if bounds[0] <= measured <= bounds[1] else MISSED
            reason = bound
        return Claim(
            text=self.text,
            kind=kind,
            published=self.published,
            source=self.source,
            outcome=outcome,
            measured="" if measured is None or math.isnan(measured) else _written(measured, unit),
            reason=reason,
        )


def conclude(claims: Sequence[Claim]) -> Verdict:
    """Return the verdict on a figure by the rule of this module."""
    judged = [claim for claim in claims if claim.outcome != NOT_COMPARABLE]
    left = [claim for claim in claims if claim.outcome == NOT_COMPARABLE]
    missed = [claim for claim in judged if claim.outcome == MISSED]
    wrong = [claim for claim in missed if claim.kind == SHAPE]
    if not judged:
        return Verdict(verdict=NOT_COMPARABLE, reason=_reasons(left))
    if wrong:
        return Verdict(verdict=CONTRADICTED, reason=_misses(wrong))
    if not missed and not left:
        return Verdict(verdict=REPRODUCED, reason=f"{_all(judged)} met")
    if any(claim.kind == SHAPE for claim in judged) or not missed:
        parts = [f"{len(judged) - len(missed)} of {len(claims)} claims met"]
        if missed:
            parts.append(_misses(missed))
        if left:
            parts.append(f"{len(left)} not comparable: {_reasons(left)}")
        return Verdict(verdict=SHAPE_ONLY, reason="; ".join(parts))
    return Verdict(verdict=CONTRADICTED, reason=_misses(missed))


def _all(claims: Sequence[Claim]) -> str:
    return "the only claim" if len(claims) == 1 else f"all {len(claims)} claims"


def _misses(claims: Sequence[Claim]) -> str:
    return "; ".join(
        f"{claim.text}: measured {claim.measured}, expected {claim.reason}" for claim in claims
    )


def _reasons(claims: Sequence[Claim]) -> str:
    return "; ".join(dict.fromkeys(claim.reason for claim in claims)) or "it makes no claim"


def _written(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".strip()
