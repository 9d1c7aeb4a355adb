"""Derives a figure's verdict from its judged claims by a fixed rule.

A claim is of one of two kinds. A `value` claim is met when the measured number lies within its
tolerance of the published number. A `shape` claim is about order or growth: which system is faster,
whether a curve rises.
A claim is *not comparable* if its opponent is absent. It is *not judged* if the run had one trial, or
lacks a phenomenon that the claim needs (`streamlab.lab.figures.preconditions`). Such claims have no
outcome: they count as neither met nor missed.
A claim that its repetitions do not decide is *inconclusive*.

Without inconclusive claims, the first rule that applies gives the verdict:

1. no claim could be judged: not comparable if every opponent is absent, else not judged
2. a shape claim was missed: contradicted
3. every claim was judged and met: reproduced
4. a shape claim was judged, thus met: shape only
5. a value claim was missed: contradicted
6. otherwise values were met, and some claim has no outcome: shape only

An inconclusive claim may be met or missed in truth. If every combination leads to the same verdict, the
figure has this verdict; else the figure is inconclusive. `indicates` is the verdict of the numbers
without their noise. A quick run has shorter inputs than the figure, so it only indicates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from streamlab.lab.figures.preconditions import Need
from streamlab.lab.figures.systems import System, absent

VALUE, SHAPE = "value", "shape"
MET, MISSED, INCONCLUSIVE = "met", "missed", "inconclusive"
NOT_COMPARABLE, NOT_JUDGED = "not comparable", "not judged"
NO_OUTCOME = (NOT_COMPARABLE, NOT_JUDGED)
ONE_TRIAL = "one trial: drawn, not judged"

REPRODUCED = "reproduced"
SHAPE_ONLY = "shape only"
CONTRADICTED = "contradicted"
INDICATION = "indication"
VERDICTS = (
    *(REPRODUCED, SHAPE_ONLY, CONTRADICTED, INCONCLUSIVE, INDICATION),
    *NO_OUTCOME,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A judged claim of a paper.

    Attributes:
        text: the paper's statement, in the lab's words.
        kind: VALUE or SHAPE.
        published: the published number as text.
        source: the place of the statement in the paper.
        outcome: MET, MISSED, INCONCLUSIVE, NOT_COMPARABLE or NOT_JUDGED.
        indicates: the outcome by the measured number alone, without its interval; never INCONCLUSIVE.
        measured: the measured number as text; empty without one.
        low, high: the interval that judged the claim; None for an infinite end. All intervals of
            a figure's claims together hold at 95 %.
        repetitions: repetitions of the cell that has the fewest, among the cells of the measured number.
        reason: the bound that judged the claim, or why it could not be judged.
        system: the claim's system; None if not stated.
        opponent: the system's opponent; None for a claim on one system.
        needs: preconditions of the claim.
    """

    text: str
    kind: str
    published: str
    source: str
    outcome: str
    indicates: str
    measured: str
    low: float | None
    high: float | None
    repetitions: int
    reason: str
    system: System | None = None
    opponent: System | None = None
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureVerdict:
    """The verdict on a figure.

    Attributes:
        verdict: one of VERDICTS.
        indicates: the verdict by the measured numbers alone; neither INCONCLUSIVE nor INDICATION.
    """

    verdict: str
    indicates: str
    reason: str

    @property
    def text(self) -> str:
        """The verdict in words, or the indication if there is no verdict."""
        if self.verdict == INDICATION:
            return f"indicates: {self.indicates}"
        if self.verdict == NOT_JUDGED and ONE_TRIAL in self.reason:
            return ONE_TRIAL
        if self.verdict == INCONCLUSIVE:
            return f"{self.verdict} (indicates: {self.indicates})"
        return self.verdict


def describe_systems(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return a note on each distinct system of claims."""
    sides = (side for claim in claims for side in (claim.system, claim.opponent))
    return tuple(dict.fromkeys(side.text for side in sides if side is not None))


def conclude(claims: Sequence[Claim], *, quick: bool = False) -> FigureVerdict:
    """Return a figure's verdict by the rule of this module; for a quick run, an indication."""
    indicates, reason = _apply_rule([replace(claim, outcome=claim.indicates) for claim in claims])
    if indicates in NO_OUTCOME:
        return FigureVerdict(verdict=indicates, indicates=indicates, reason=reason)
    if quick:
        return FigureVerdict(
            verdict=INDICATION, indicates=indicates, reason=f"a quick run: {reason}"
        )
    verdicts = {
        _apply_rule([replace(claim, outcome=flips.get(claim.kind, MET))
               if claim.outcome == INCONCLUSIVE else claim for claim in claims])[0]
        for flips in ({}, {VALUE: MISSED}, {SHAPE: MISSED})
    }  # fmt: skip
    open_claims = [claim for claim in claims if claim.outcome == INCONCLUSIVE]
    if len(verdicts) > 1:
        return FigureVerdict(
            verdict=INCONCLUSIVE,
            indicates=indicates,
            reason=f"{len(open_claims)} of {len(claims)} claims inconclusive: {_list_claims(open_claims, '')}",
        )
    (verdict,) = verdicts
    _, reason = _apply_rule([claim for claim in claims if claim.outcome != INCONCLUSIVE])
    if open_claims:
        reason += f"; {len(open_claims)} inconclusive, which changes nothing"
    return FigureVerdict(verdict=verdict, indicates=indicates, reason=reason)


def _apply_rule(claims: Sequence[Claim]) -> tuple[str, str]:
    """Return verdict and reason if no claim is inconclusive."""
    judged_claims = [claim for claim in claims if claim.outcome not in NO_OUTCOME]
    without_outcome = [claim for claim in claims if claim.outcome in NO_OUTCOME]
    missed_claims = [claim for claim in judged_claims if claim.outcome == MISSED]
    wrong = [claim for claim in missed_claims if claim.kind == SHAPE]
    if not judged_claims:
        outcomes = {claim.outcome for claim in without_outcome}
        return NOT_JUDGED if NOT_JUDGED in outcomes else NOT_COMPARABLE, _reasons(without_outcome)
    if wrong:
        return CONTRADICTED, _list_claims(wrong, "expected ")
    if not missed_claims and not without_outcome:
        return REPRODUCED, f"{_count_claims(judged_claims)} met"
    if any(claim.kind == SHAPE for claim in judged_claims) or not missed_claims:
        parts = [f"{len(judged_claims) - len(missed_claims)} of {len(claims)} claims met"]
        if missed_claims:
            parts.append(_list_claims(missed_claims, "expected "))
        for outcome in NO_OUTCOME:
            same_claims = [claim for claim in without_outcome if claim.outcome == outcome]
            if same_claims:
                parts.append(f"{len(same_claims)} {outcome}: {_reasons(same_claims)}")
        return SHAPE_ONLY, "; ".join(parts)
    return CONTRADICTED, _list_claims(missed_claims, "expected ")


def _count_claims(claims: Sequence[Claim]) -> str:
    return "the only claim" if len(claims) == 1 else f"all {len(claims)} claims"


def _list_claims(claims: Iterable[Claim], word: str) -> str:
    return "; ".join(
        f"{claim.text}: measured {claim.measured}, {word}{claim.reason}" for claim in claims
    )


def _reasons(claims: Sequence[Claim]) -> str:
    # `claim.reason` may contain a stand-in's value, which differs by claim; `absent` gives equal texts.
    reasons = (absent((claim.system, claim.opponent)) or claim.reason for claim in claims)
    return "; ".join(dict.fromkeys(reasons)) or "it makes no claim"
