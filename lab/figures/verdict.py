"""Says what became of a figure, by a stated rule on its claims; `judge` judges those.

A claim is of one of two kinds. A `value` claim is met when the measured number lies within its
tolerance of the published one. A `shape` claim is about order or growth: who is faster, whether a
curve rises. Two kinds of claims have no outcome, and count as neither met nor missed: one is not
comparable where its opponent is absent, and not judged where what it is about did not happen in
this run (`streamlab.lab.figures.preconditions`), or where there was one trial. A claim that its repetitions do not
decide is inconclusive.

The rule, first that applies, where no claim is inconclusive:

1. no claim could be judged: not comparable where every opponent is absent, else not judged
2. a shape claim was missed: contradicted
3. every claim was judged and met: reproduced
4. a shape claim was judged, thus met: shape only
5. a value claim was missed: contradicted
6. otherwise values were met, and something has no outcome: shape only

Inconclusive claims may turn out either way. Where every way leads to the same verdict, that is it;
else the figure is inconclusive. What the numbers alone say, without their noise, it `indicates`. A
quick run has shorter inputs than the figure's own, so that it only ever indicates.
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
    """One claim of the paper, judged.

    Attributes:
        text: what the paper says, in our words.
        kind: VALUE or SHAPE.
        published: its number, as text.
        source: where the paper says it.
        outcome: MET, MISSED, INCONCLUSIVE, NOT_COMPARABLE or NOT_JUDGED.
        indicates: what the measured number says without its interval: never INCONCLUSIVE.
        measured: what was measured, as text; empty where nothing was.
        low, high: the interval by which it was judged, which together with those of the figure's
            other claims holds at 95 %; None: there is no such end.
        repetitions: fewest of any cell that was used.
        reason: by which bound it was judged, or why it could not be.
        system: whose it is; None: the figure does not say.
        opponent: with whom it is compared; None: with nobody.
        needs: what must have happened in the run for it to be judged.
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
    """What is to be said of a figure.

    Attributes:
        verdict: one of VERDICTS.
        indicates: the verdict by the measured numbers alone: neither INCONCLUSIVE nor INDICATION.
        reason: why.
    """

    verdict: str
    indicates: str
    reason: str

    @property
    def text(self) -> str:
        """What people read: the verdict, or what is indicated where there is none."""
        if self.verdict == INDICATION:
            return f"indicates: {self.indicates}"
        if self.verdict == NOT_JUDGED and ONE_TRIAL in self.reason:
            return ONE_TRIAL
        if self.verdict == INCONCLUSIVE:
            return f"{self.verdict} (indicates: {self.indicates})"
        return self.verdict


def conclude(claims: Sequence[Claim], *, quick: bool = False) -> FigureVerdict:
    """Return the verdict on a figure by the rule of this module; of a quick run, an indication."""
    indicates, why = _rule([replace(claim, outcome=claim.indicates) for claim in claims])
    if indicates in NO_OUTCOME:
        return FigureVerdict(verdict=indicates, indicates=indicates, reason=why)
    if quick:
        return FigureVerdict(verdict=INDICATION, indicates=indicates, reason=f"a quick run: {why}")
    ways = {
        _rule([replace(claim, outcome=turned.get(claim.kind, MET))
               if claim.outcome == INCONCLUSIVE else claim for claim in claims])[0]
        for turned in ({}, {VALUE: MISSED}, {SHAPE: MISSED})
    }  # fmt: skip
    open_ = [claim for claim in claims if claim.outcome == INCONCLUSIVE]
    if len(ways) > 1:
        return FigureVerdict(
            verdict=INCONCLUSIVE,
            indicates=indicates,
            reason=f"{len(open_)} of {len(claims)} claims inconclusive: {_named(open_, '')}",
        )
    (verdict,) = ways
    _, reason = _rule([claim for claim in claims if claim.outcome != INCONCLUSIVE])
    if open_:
        reason += f"; {len(open_)} inconclusive, which changes nothing"
    return FigureVerdict(verdict=verdict, indicates=indicates, reason=reason)


def _rule(claims: Sequence[Claim]) -> tuple[str, str]:
    """Return verdict and reason where no claim is inconclusive."""
    judged = [claim for claim in claims if claim.outcome not in NO_OUTCOME]
    left = [claim for claim in claims if claim.outcome in NO_OUTCOME]
    missed = [claim for claim in judged if claim.outcome == MISSED]
    wrong = [claim for claim in missed if claim.kind == SHAPE]
    if not judged:
        outcomes = {claim.outcome for claim in left}
        return NOT_JUDGED if NOT_JUDGED in outcomes else NOT_COMPARABLE, _reasons(left)
    if wrong:
        return CONTRADICTED, _named(wrong, "expected ")
    if not missed and not left:
        return REPRODUCED, f"{_all(judged)} met"
    if any(claim.kind == SHAPE for claim in judged) or not missed:
        parts = [f"{len(judged) - len(missed)} of {len(claims)} claims met"]
        if missed:
            parts.append(_named(missed, "expected "))
        for outcome in NO_OUTCOME:
            some = [claim for claim in left if claim.outcome == outcome]
            if some:
                parts.append(f"{len(some)} {outcome}: {_reasons(some)}")
        return SHAPE_ONLY, "; ".join(parts)
    return CONTRADICTED, _named(missed, "expected ")


def _all(claims: Sequence[Claim]) -> str:
    return "the only claim" if len(claims) == 1 else f"all {len(claims)} claims"


def _named(claims: Iterable[Claim], word: str) -> str:
    return "; ".join(
        f"{claim.text}: measured {claim.measured}, {word}{claim.reason}" for claim in claims
    )


def _reasons(claims: Sequence[Claim]) -> str:
    # Each reason once: why an opponent is absent, without the value that each claim has instead.
    reasons = (absent((claim.system, claim.opponent)) or claim.reason for claim in claims)
    return "; ".join(dict.fromkeys(reasons)) or "it makes no claim"
