"""Defines a search for a sustainable rate in the form that reports show."""

from dataclasses import dataclass

from streamlab.reports.offered_loads import PUBLISHABLE_WINDOW_S
from streamlab.reports.summary import Cell
from streamlab.results.query import Spread

FAIL = "fail"
CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A trial of a probe: its verdict, status (empty if unknown), and reason."""

    verdict: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A test of one rate; `outcome` is empty if undecided, and for a level."""

    number: int
    purpose: str
    rate_eps: float
    outcome: str
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The measurement at a share of the sustainable rate; `cell` has its trials."""

    share: float
    rate_eps: float
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for a sustainable rate.

    Attributes:
        name: the cell's id.
        place: the cell's place in the matrix, without numbers.
        over: whether the search is finished.
        pass_eps, fail_eps: the bracket; None: no such end, or an answer was wrong.
        confirmed, refuted: whether the ends held in every confirming process.
        reason: the limit of the bracket, or why there is no bracket; may be empty.
        wrong: whether an answer was wrong.
        arrival, warm_up_s, window_s, objective: settings of the load.
        tolerance, votes, confirmations: settings of the search.
        probes: all probes, in order.
        levels: latency at shares of `pass_eps`.
        at_rate: the trials that confirmed `pass_eps`; None without any.
        catch_up_eps: catch-up rate of the cell that differs only in its load; None without one.
    """

    name: str
    place: Cell
    over: bool
    pass_eps: float | None
    fail_eps: float | None
    confirmed: bool
    refuted: bool
    reason: str
    wrong: bool
    arrival: str
    warm_up_s: float
    window_s: float
    objective: str
    tolerance: float | None
    votes: int | None
    confirmations: int | None
    probes: tuple[Probe, ...]
    levels: tuple[Level, ...]
    at_rate: Cell | None
    catch_up_eps: Spread | None

    @property
    def quick(self) -> bool:
        """Whether the window is too short for a publishable bracket."""
        return self.window_s < PUBLISHABLE_WINDOW_S

    @property
    def is_wide(self) -> bool:
        """Whether the bracket is clearly wider than the requested tolerance."""
        if self.pass_eps is None or self.fail_eps is None or self.tolerance is None:
            return False
        return self.fail_eps / self.pass_eps - 1 > 2 * self.tolerance

    @property
    def why_fails(self) -> str:
        """The last reason why a trial at the lowest failing rate failed; empty without one."""
        reasons = [
            vote.reason
            for probe in self.probes
            if probe.rate_eps == self.fail_eps
            for vote in probe.votes
            if vote.verdict in (FAIL, CRASH) and vote.reason
        ]
        return reasons[-1] if reasons else ""

    @property
    def trials(self) -> int:
        """The number of processes of the search."""
        return sum(len(probe.votes) for probe in self.probes)
