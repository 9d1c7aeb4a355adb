"""Defines the steps, votes, probes and results of a search.

A probe tests one rate in several processes; each process gives a vote.
A rate may bound the search from above without being the engine's limit: the generator cannot keep the rate, or the
input is too short.
"""

from dataclasses import dataclass

PASS = "pass"
FAIL = "fail"
CRASH = "crash"
INVALID = "invalid"
TOO_SHORT = "too_short"
STOP = "stop"

VERDICTS = {
    PASS: "the rate was sustained",
    FAIL: "the rate was not sustained, or not shown to be",
    CRASH: "the engine failed; counts as a fail",
    INVALID: "the generator did not keep the rate, so the trial says nothing about the engine",
    TOO_SHORT: "the input has too few events for the rate",
    STOP: "the answer was wrong, or the engine cannot run the workload; the search has no result",
}

DOUBLE = "double"
BISECT = "bisect"
CONFIRM = "confirm"
REFUTE = "refute"
LEVEL = "level"
"""Purposes of probes; `streamlab.lab.runner.search.bisection` describes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """Result of one trial of a search: one of VERDICTS, and its reason."""

    verdict: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The next trial of a search: vote number `vote` on probe number `probe`, both from 1."""

    rate_eps: float
    purpose: str
    probe: int
    vote: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A test of one rate, with its votes so far.

    Attributes:
        number: number of the probe, from 1.
        purpose: DOUBLE, BISECT, CONFIRM, REFUTE or LEVEL.
        rate_eps: tested rate, in events/s.
        votes: votes in order.
        outcome: PASS, FAIL, INVALID, TOO_SHORT or STOP; None while undecided. A LEVEL's outcome is always None.
    """

    number: int
    purpose: str
    rate_eps: float
    votes: tuple[Vote, ...] = ()
    outcome: str | None = None

    @property
    def reason(self) -> str | None:
        """Return the reason of the last vote that agrees with the outcome."""
        kinds = {self.outcome, CRASH} if self.outcome == FAIL else {self.outcome}
        reasons = [vote.reason for vote in self.votes if vote.verdict in kinds]
        return reasons[-1] if reasons else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Lower and upper bound of the sustainable rate.

    Attributes:
        r_pass_eps: the confirmed rate, or else the highest sustained rate, in events/s. None if no rate was
            sustained, or the answer was wrong.
        r_fail_eps: the lowest rate above `r_pass_eps` that failed: refuted if possible, else by majority. None
            if no rate failed.
        confirmed: `r_pass_eps` held in every confirming process.
        refuted: `r_fail_eps` failed in every confirming process.
        reason: why a bound is missing or not confirmed; None if there is nothing to report.
    """

    r_pass_eps: float | None
    r_fail_eps: float | None
    confirmed: bool
    refuted: bool
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """State of a search.

    Attributes:
        next: the next trial; None if the search has ended.
        probes: probes so far, in order.
        bracket: bounds of the sustainable rate so far.
    """

    next: Step | None
    probes: tuple[Probe, ...]
    bracket: Bracket
