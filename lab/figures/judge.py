"""Judges claims by intervals: what noise could have made is neither met nor missed.

A claim is met when the whole interval of what was measured lies within its bounds, missed when the
whole interval lies outside, else inconclusive. The intervals of a figure's claims hold together: in
95 of 100 figures none of them misses the truth (Bonferroni: each of m is one of 1 - 5 %/m), so that
at most 5 % of verdicts are wrong, however many claims there are. A claim that cannot be judged
takes no share.

A single trial of a cell shows no noise: its value is drawn, and not judged.
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

MOST_REPETITIONS = 100
"""More than these are not a reasonable number, and are not counted for a reader."""

FEWEST_TRIALS = 2
"""Fewest trials of a cell for its claims to be judged; a single trial is only drawn."""

_ROUNDING = 1e-9
"""Of a bound: quotients that are equal to it but for rounding lie on it, which is within."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posed:
    """A claim with what was measured and the bounds, included, that it is to be judged by.

    Attributes:
        asked: the claim.
        kind: VALUE or SHAPE.
        measured: None without a verified number.
        bounds: lowest and highest that meet the claim.
        bound: them, as text.
        unit: of both.
    """

    asked: "PublishedClaim"
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
        """Return the outcome of a claim that cannot be judged, and why; None if it can.

        Args:
            fewest: trials of a cell without which nothing is judged.
        """
        missing = absent((self.asked.system, self.asked.opponent))
        if missing is not None:
            return NOT_COMPARABLE, missing
        lack = shortfalls(self.asked.needs)
        if lack is not None:
            return NOT_JUDGED, lack
        if self.estimate is None:
            return NOT_JUDGED, "there is no verified number for it"
        if self.estimate.n < fewest:
            return NOT_JUDGED, ONE_TRIAL
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedClaim:
    """A claim before it is judged.

    `between` or `of` say whose systems it is about (`streamlab.lab.figures.systems`), `given` what must have
    happened in the run for it to be judged (`streamlab.lab.figures.preconditions`). `relation` is that of the
    published number (`streamlab.reports.published`): a value claim on a ratio has two bounds.
    """

    text: str
    published: str
    source: str
    relation: str = ""
    needs: tuple[Need, ...] = ()
    system: System | None = None
    opponent: System | None = None

    def between(self, system: System, opponent: System) -> "PublishedClaim":
        """Return the claim as one of a system against another."""
        return replace(self, system=system, opponent=opponent)

    def of(self, system: System) -> "PublishedClaim":
        """Return the claim as one of a system alone."""
        return replace(self, system=system)

    def given(self, *needs: Need) -> "PublishedClaim":
        """Return the claim as one that is judged only if all this happened in the run."""
        return replace(self, needs=(*self.needs, *needs))

    def near(
        self, measured: Estimate | None, low: float, high: float, tolerance: float, unit: str = ""
    ) -> Posed:
        """Pose a value claim: within `tolerance` (a share) of [low, high], both above 0."""
        bounds = (low * (1 - tolerance), high * (1 + tolerance))
        within = f"from {_written(bounds[0], unit)} to {_written(bounds[1], unit)}"
        return self._pose(VALUE, measured, bounds, f"{tolerance:.0%} tolerance: {within}", unit)

    def at_most(self, measured: Estimate | None, limit: float, unit: str = "") -> Posed:
        """Pose a value claim with an upper bound."""
        return self._pose(
            VALUE, measured, (-math.inf, limit), f"at most {_written(limit, unit)}", unit
        )

    def at_least(
        self, measured: Estimate | None, limit: float, unit: str = "", kind: str = VALUE
    ) -> Posed:
        """Pose a claim with a lower bound."""
        return self._pose(
            kind, measured, (limit, math.inf), f"at least {_written(limit, unit)}", unit
        )

    def shape(self, measured: Estimate | None, low: float, high: float, unit: str = "") -> Posed:
        """Pose a claim on order or growth: the measured number, at least 0, is in [low, high]."""
        parts = [f"at least {_written(low, unit)}"] if low > 0 or high == math.inf else []
        parts += [f"at most {_written(high, unit)}"] if high < math.inf else []
        return self._pose(SHAPE, measured, (low, high), " and ".join(parts), unit)

    def _pose(
        self, kind: str, measured: Estimate | None, bounds: Ends, bound: str, unit: str
    ) -> Posed:
        if kind == VALUE and self.relation == "ratio" and not all(map(math.isfinite, bounds)):
            raise ValueError(
                f"{self.text!r}: the ratio {self.published} is published, and {bound} is one "
                "bound: far beyond it is as far from it as far below; pose it with near()"
            )
        return Posed(
            asked=self, kind=kind, measured=measured, bounds=bounds, bound=bound, unit=unit
        )


def judge(posed: Sequence[Posed], *, fewest: int = FEWEST_TRIALS) -> tuple[Claim, ...]:
    """Return all claims of a figure, judged together; see this module.

    Args:
        posed: the claims.
        fewest: trials of a cell without which nothing is judged; 1 where they do not vary.
    """
    judged = sum(claim.refusal(fewest) is None for claim in posed)
    alpha = (1 - CONFIDENCE) / 2 / max(judged, 1)
    return tuple(_judged(claim, alpha, fewest) for claim in posed)


def side(ends: Ends, bounds: Ends) -> str:
    """Return on which side of the bounds an interval lies: MET, MISSED, or INCONCLUSIVE."""
    low, high = (bound + sign * abs(bound) * _ROUNDING if math.isfinite(bound) else bound
                 for bound, sign in zip(bounds, (-1, 1), strict=True))  # fmt: skip
    if low <= ends[0] and ends[1] <= high:
        return MET
    return MISSED if ends[1] < low or ends[0] > high else INCONCLUSIVE


def repetitions_to_tell(measured: Estimate, bounds: Ends, alpha: float) -> int | None:
    """Return how many values a cell would probably decide, were they spread as those that are.

    None where MOST_REPETITIONS would not, or nothing is known of the spread.
    """
    tried = range(max(FEWEST, measured.n + 1), MOST_REPETITIONS + 1)

    def tells(n: int) -> bool:
        return side(measured.ends(alpha, n), bounds) != INCONCLUSIVE

    if not tried or not tells(tried[-1]):
        return None
    return tried[bisect_left(tried, True, key=tells)]


def _judged(posed: Posed, alpha: float, fewest: int) -> Claim:
    known, refusal = posed.estimate, posed.refusal(fewest)
    ends = UNKNOWN
    if refusal is not None:
        outcome, reason = refusal
        indicates = outcome
        if outcome == NOT_COMPARABLE:
            # The number of a stand-in is no number of the claim.
            instead = stand_in((posed.asked.system, posed.asked.opponent))
            if known is not None and instead and shortfalls(posed.asked.needs) is None:
                reason += f"; with {instead} in its place: {_written(known.value, posed.unit)}"
            known = None
    else:
        assert known is not None
        ends = known.ends(alpha)
        outcome = side(ends, posed.bounds)
        indicates = side((known.value, known.value), posed.bounds)
        reason = f"{posed.bound}; {_interval(known, ends, posed.unit)}"
        if outcome == INCONCLUSIVE:
            reason += f"; {_advice(known, posed.bounds, alpha)}"
    low, high = (end if math.isfinite(end) else None for end in ends)
    return Claim(
        text=posed.asked.text,
        kind=posed.kind,
        published=posed.asked.published,
        source=posed.asked.source,
        outcome=outcome,
        indicates=indicates,
        measured="" if known is None else _written(known.value, posed.unit),
        low=low,
        high=high,
        repetitions=0 if known is None else known.n,
        reason=reason,
        system=posed.asked.system,
        opponent=posed.asked.opponent,
        needs=posed.asked.needs,
    )


def _interval(measured: Estimate, ends: Ends, unit: str) -> str:
    times = number_of(measured.n, "repetition")
    low, high = ends
    if ends == UNKNOWN:
        return f"{times}: no interval"
    if math.isinf(high):
        return f"interval of {times} from {_written(low, unit)}"
    return f"interval of {times} from {_written(low, unit)} to {_written(high, unit)}"


def _advice(measured: Estimate, bounds: Ends, alpha: float) -> str:
    if measured.n < FEWEST:
        return f"{FEWEST} give a first one, 8 bear a stalled process"
    wanted = repetitions_to_tell(measured, bounds, alpha)
    if wanted is None:
        return f"not even {MOST_REPETITIONS} repetitions would tell: too noisy, so near its bound"
    return f"about {wanted} repetitions would tell"


def _written(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".strip()
