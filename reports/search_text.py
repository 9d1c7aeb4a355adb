"""A search for a sustainable rate as it is shown."""

from dataclasses import dataclass

from streamlab.reports.offered_loads import PUBLISHABLE_WINDOW_S
from streamlab.reports.summary import Cell
from streamlab.results.query import Spread

FAIL = "fail"
CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One trial of a probe: its verdict, the status of its trial (empty if unknown), and why."""

    verdict: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question about one rate; `outcome` is empty where it is undecided, and for a level."""

    number: int
    purpose: str
    rate_eps: float
    outcome: str
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What was measured at a share of the rate that was found; `cell` has its trials."""

    share: float
    rate_eps: float
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search.

    Attributes:
        name: the cell's id.
        place: the cell as the others see it; it has no numbers of its own.
        over: whether the search came to its end.
        pass_eps, fail_eps: the bracket; None: there is no such end, or an answer was wrong.
        confirmed, refuted: whether the ends held in every confirming process.
        reason: what bounds it, or why there is nothing; may be empty.
        wrong: whether an answer was wrong.
        arrival, warm_up_s, window_s, objective: of the load.
        tolerance, votes, confirmations: of the search.
        probes: all that was asked, in order.
        levels: latency at shares of `pass_eps`.
        at_rate: the trials that confirmed `pass_eps`; None where there are none.
        catch_up_eps: of the cell that differs in its load alone; None where the run has none.
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
        """Tell whether the window is too short for the bracket to be published."""
        return self.window_s < PUBLISHABLE_WINDOW_S

    @property
    def is_wide(self) -> bool:
        """Tell whether the bracket is clearly wider than the search was asked for."""
        if self.pass_eps is None or self.fail_eps is None or self.tolerance is None:
            return False
        return self.fail_eps / self.pass_eps - 1 > 2 * self.tolerance

    @property
    def why_fails(self) -> str:
        """Return why trials at the lowest failing rate failed; empty where there is none."""
        found = [
            vote.reason
            for probe in self.probes
            if probe.rate_eps == self.fail_eps
            for vote in probe.votes
            if vote.verdict in (FAIL, CRASH) and vote.reason
        ]
        return found[-1] if found else ""

    @property
    def trials(self) -> int:
        """Return how many processes it took."""
        return sum(len(probe.votes) for probe in self.probes)
