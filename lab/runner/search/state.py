"""What a search asks, what it is told, and what comes of it.

A probe is a question about one rate; it is asked in several processes, its votes. Not every answer
is yes or no: a rate that the generator cannot keep bounds the search from above without being the
engine's limit, and so does one for which the input is too short.
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
    FAIL: "it was not, or not shown to be",
    CRASH: "the engine failed; counts as a fail",
    INVALID: "the trial says nothing about the engine, since the generator did not keep the rate",
    TOO_SHORT: "the input has too few events for the rate",
    STOP: "the answer was wrong, or the engine cannot run this: no rate means anything",
}

DOUBLE = "double"
BISECT = "bisect"
CONFIRM = "confirm"
REFUTE = "refute"
LEVEL = "level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What came of one trial: one of VERDICTS, and why."""

    verdict: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The trial to do next: vote number `vote` on probe number `probe`, both from 1."""

    rate_eps: float
    purpose: str
    probe: int
    vote: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question about one rate, with its votes so far.

    Attributes:
        number: from 1, in the order of asking.
        purpose: DOUBLE, BISECT, CONFIRM, REFUTE or LEVEL.
        rate_eps: the rate.
        votes: in order.
        outcome: PASS, FAIL, INVALID, TOO_SHORT or STOP; None while undecided, and for a level,
            which asks nothing.
    """

    number: int
    purpose: str
    rate_eps: float
    votes: tuple[Vote, ...] = ()
    outcome: str | None = None

    @property
    def reason(self) -> str | None:
        """The reason of the last vote that speaks for the outcome."""
        kinds = {self.outcome, CRASH} if self.outcome == FAIL else {self.outcome}
        found = [vote.reason for vote in self.votes if vote.verdict in kinds]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Where the highest sustained rate lies.

    Attributes:
        r_pass_eps: the highest rate that was sustained: the confirmed one, where one is. None when
            none was, or when the answer was wrong.
        r_fail_eps: the lowest rate above it that was not: the refuted one, where one is, else by
            majority. None when no rate failed.
        confirmed: `r_pass_eps` held in every confirming process.
        refuted: `r_fail_eps` failed in as many.
        reason: what is to be said about it: why there is no fail above, why an end is not
            confirmed. None when there is nothing.
    """

    r_pass_eps: float | None
    r_fail_eps: float | None
    confirmed: bool
    refuted: bool
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a search stands.

    Attributes:
        next: what to try; None when the search is over.
        probes: all so far, in order.
        bracket: what is known so far; the result when the search is over.
    """

    next: Step | None
    probes: tuple[Probe, ...]
    bracket: Bracket
