"""Judges claims by intervals, so that noise alone never decides a claim.

A claim is met when its whole measured interval lies within its bounds, missed when the whole interval
lies outside, else inconclusive.
The intervals of a figure's claims hold together: in 95 of 100 figures all of them contain the truth.
To this end, each of m intervals has confidence 1 - 5 %/m (Bonferroni), so at most 5 % of verdicts are
wrong, for any number of claims. Claims that cannot be judged do not count in m.

A single trial of a cell shows no noise: its value is drawn, but not judged.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamlab.lab.figures.preconditions import Need, shortfalls
from streamlab.lab.figures.systems import System, absent, stand_in
from streamlab.lab.figures.verdict import (
    INCONCLUSIVE,
    MET,
    MISSED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    ONE_TRIAL,
    SHAPE,
    VALUE,
    Claim,
)
from streamlab.reports.numbers import number_of
from streamlab.results.stats.estimates import FEWEST, UNKNOWN, Ends, Estimate
from streamlab.results.stats.intervals import CONFIDENCE

MAX_REPETITIONS = 100
"""Most repetitions that the advice recommends; more are unreasonable."""

FEWEST_TRIALS = 2
"""Fewest trials of a cell for its claims to be judged; a single trial is only drawn."""

_ROUNDING = 1e-9
"""Share of a bound by which rounding may move a quotient; a quotient on the bound still counts as within."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredClaim:
    """A claim with its measured value and the bounds that judge it.

    Attributes:
        kind: VALUE or SHAPE.
        measured: the measured value; None without a verified number.
        bounds: lowest and highest value that meet the claim, inclusive.
        bound: the bounds as text.
    """

    claim: "PublishedClaim"
    kind: str
    measured: Estimate | None
    bounds: Ends
    bound: str
    unit: str

    @property
    def estimate(self) -> Estimate | None:
        """The measured value; None without a verified number."""
        if self.measured is None or math.isnan(self.measured.value):
            return None
        return self.measured

    def refusal(self, fewest: int) -> tuple[str, str] | None:
        """Return outcome and reason of a claim that cannot be judged; None if it can."""
        absence = absent((self.claim.system, self.claim.opponent))
        if absence is not None:
            return NOT_COMPARABLE, absence
        unmet = shortfalls(self.claim.needs)
        if unmet is not None:
            return NOT_JUDGED, unmet
        if self.estimate is None:
            return NOT_JUDGED, "it has no verified number"
        if self.estimate.n < fewest:
            return NOT_JUDGED, ONE_TRIAL
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedClaim:
    """A published claim before it is judged.

    `between` or `of` set the compared systems (`streamlab.lab.figures.systems`). `requiring` adds
    preconditions (`streamlab.lab.figures.preconditions`). `relation` is the relation of the published
    number (`streamlab.reports.published`); a value claim on a ratio needs two bounds.
    """

    text: str
    published: str
    source: str
    relation: str = ""
    needs: tuple[Need, ...] = ()
    system: System | None = None
    opponent: System | None = None

    def between(self, system: System, opponent: System) -> "PublishedClaim":
        """Return the claim with the two systems that it compares."""
        return replace(self, system=system, opponent=opponent)

    def of(self, system: System) -> "PublishedClaim":
        """Return the claim with its only system."""
        return replace(self, system=system)

    def requiring(self, *needs: Need) -> "PublishedClaim":
        """Return the claim with further preconditions, without which it is not judged."""
        return replace(self, needs=(*self.needs, *needs))

    def near(
        self, measured: Estimate | None, low: float, high: float, tolerance: float, unit: str = ""
    ) -> MeasuredClaim:
        """Pose a value claim: within `tolerance` (a share) of [low, high], both above 0."""
        bounds = (low * (1 - tolerance), high * (1 + tolerance))
        within = f"from {_format_value(bounds[0], unit)} to {_format_value(bounds[1], unit)}"
        return self._pose(VALUE, measured, bounds, f"{tolerance:.0%} tolerance: {within}", unit)

    def at_most(self, measured: Estimate | None, limit: float, unit: str = "") -> MeasuredClaim:
        """Pose a value claim with an upper bound."""
        return self._pose(
            VALUE, measured, (-math.inf, limit), f"at most {_format_value(limit, unit)}", unit
        )

    def at_least(self, measured: Estimate | None, limit: float, unit: str = "") -> MeasuredClaim:
        """Pose a value claim with a lower bound."""
        return self._pose(
            VALUE, measured, (limit, math.inf), f"at least {_format_value(limit, unit)}", unit
        )

    def shape(
        self, measured: Estimate | None, low: float, high: float, unit: str = ""
    ) -> MeasuredClaim:
        """Pose a claim on order or growth: the measured number, at least 0, lies in [low, high]."""
        parts = [f"at least {_format_value(low, unit)}"] if low > 0 or high == math.inf else []
        parts += [f"at most {_format_value(high, unit)}"] if high < math.inf else []
        return self._pose(SHAPE, measured, (low, high), " and ".join(parts), unit)

    def _pose(
        self, kind: str, measured: Estimate | None, bounds: Ends, bound: str, unit: str
    ) -> MeasuredClaim:
        if kind == VALUE and self.relation == "ratio" and not all(map(math.isfinite, bounds)):
            raise ValueError(
                f"{self.text!r}: the published number is the ratio {self.published}, but {bound} is "
                "only one bound, so that any distance beyond it would meet the claim; use near()"
            )
        return MeasuredClaim(
            claim=self, kind=kind, measured=measured, bounds=bounds, bound=bound, unit=unit
        )


def judge(claims: Sequence[MeasuredClaim], *, fewest: int = FEWEST_TRIALS) -> tuple[Claim, ...]:
    """Judge all claims of a figure together by the rule of this module.

    A claim is judged if its cells have at least `fewest` trials; pass 1 for values that do not vary.
    """
    judged_count = sum(claim.refusal(fewest) is None for claim in claims)
    alpha = (1 - CONFIDENCE) / 2 / max(judged_count, 1)
    return tuple(_judge_claim(claim, alpha, fewest) for claim in claims)


def side(ends: Ends, bounds: Ends) -> str:
    """Compare an interval with bounds: MET (within), MISSED (outside) or INCONCLUSIVE."""
    low, high = (bound + sign * abs(bound) * _ROUNDING if math.isfinite(bound) else bound
                 for bound, sign in zip(bounds, (-1, 1), strict=True))  # fmt: skip
    if low <= ends[0] and ends[1] <= high:
        return MET
    return MISSED if ends[1] < low or ends[0] > high else INCONCLUSIVE


def repetitions_needed(measured: Estimate, bounds: Ends, alpha: float) -> int | None:
    """Return the number of values per cell that would probably decide the claim, at the present spread.

    None if MAX_REPETITIONS would not suffice, or the spread is unknown.
    """
    counts = range(max(FEWEST, measured.n + 1), MAX_REPETITIONS + 1)

    def decides(n: int) -> bool:
        return side(measured.ends(alpha, n), bounds) != INCONCLUSIVE

    if not counts or not decides(counts[-1]):
        return None
    return counts[bisect_left(counts, True, key=decides)]


def _judge_claim(measured_claim: MeasuredClaim, alpha: float, fewest: int) -> Claim:
    claim = measured_claim.claim
    estimate, refusal = measured_claim.estimate, measured_claim.refusal(fewest)
    ends = UNKNOWN
    if refusal is not None:
        outcome, reason = refusal
        indicates = outcome
        if outcome == NOT_COMPARABLE:
            # A stand-in's number says nothing about the claim.
            instead = stand_in((claim.system, claim.opponent))
            if estimate is not None and instead and shortfalls(claim.needs) is None:
                reason += f"; with {instead} in its place: {_format_value(estimate.value, measured_claim.unit)}"
            estimate = None
    else:
        assert estimate is not None
        ends = estimate.ends(alpha)
        outcome = side(ends, measured_claim.bounds)
        indicates = side((estimate.value, estimate.value), measured_claim.bounds)
        reason = f"{measured_claim.bound}; {_interval(estimate, ends, measured_claim.unit)}"
        if outcome == INCONCLUSIVE:
            reason += f"; {_advice(estimate, measured_claim.bounds, alpha)}"
    low, high = (end if math.isfinite(end) else None for end in ends)
    return Claim(
        text=claim.text,
        kind=measured_claim.kind,
        published=claim.published,
        source=claim.source,
        outcome=outcome,
        indicates=indicates,
        measured="" if estimate is None else _format_value(estimate.value, measured_claim.unit),
        low=low,
        high=high,
        repetitions=0 if estimate is None else estimate.n,
        reason=reason,
        system=claim.system,
        opponent=claim.opponent,
        needs=claim.needs,
    )


def _interval(measured: Estimate, ends: Ends, unit: str) -> str:
    count = number_of(measured.n, "repetition")
    low, high = ends
    if ends == UNKNOWN:
        return f"{count}: no interval"
    if math.isinf(high):
        return f"interval of {count} from {_format_value(low, unit)}"
    return f"interval of {count} from {_format_value(low, unit)} to {_format_value(high, unit)}"


def _advice(measured: Estimate, bounds: Ends, alpha: float) -> str:
    if measured.n < FEWEST:
        return f"an interval needs at least {FEWEST}; 8 also tolerate a stalled process"
    count = repetitions_needed(measured, bounds, alpha)
    if count is None:
        return f"even {MAX_REPETITIONS} repetitions would not decide: too noisy so near the bound"
    return f"about {count} repetitions would decide"


def _format_value(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".strip()
