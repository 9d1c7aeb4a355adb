"""Drives the searches of a run side by side, from the rows that their trials leave."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.runner.search.bisection import INVALID_VOTES, replay
from streamlab.lab.runner.search.errors import SearchError
from streamlab.lab.runner.search.state import (
    CRASH,
    FAIL,
    INVALID,
    PASS,
    STOP,
    TOO_SHORT,
    State,
    Step,
    Vote,
)
from streamlab.results import schema

Row = Mapping[str, Any]

_VERDICTS = {
    schema.OK: PASS,
    schema.UNSUSTAINED: FAIL,
    schema.UNSTEADY: FAIL,
    # A rate that drowns an engine can show in each of these.
    schema.TIMEOUT: FAIL,
    schema.OOM: FAIL,
    schema.CRASH: CRASH,
    schema.INVALID: INVALID,
    schema.WRONG_OUTPUT: STOP,
    schema.UNSUPPORTED: STOP,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTrial:
    """A trial that a search asks for.

    Attributes:
        cell: whose search.
        purpose, probe, vote, rate_eps: as in `streamlab.lab.runner.search.state.Step`.
        repetition: which trial of the cell, from 1.
        load: the cell's, at this rate.
        pause_s: how long to leave the machine alone before, in seconds: what disturbed the votes
            before this one may be over by then.
    """

    cell: Cell
    purpose: str
    probe: int
    vote: int
    rate_eps: float
    repetition: int
    load: LoadSpec
    pause_s: float


INVALID_PAUSE_S = 5.0
"""Pause after a vote that was invalid, doubled with each further one in a row. A process with
gigabytes of memory is felt for some ten seconds after its end on a virtual machine, whose host
takes it back."""


class Searches:
    """All searches of a run.

    Trials of different cells take turns: the next one belongs to a cell that has had the fewest,
    so that a drift of the machine falls on all alike. Within a round the order is drawn anew each
    time, so that what a trial leaves behind does not fall on the same cell always. What comes next
    depends on the rows alone; a resumed run goes on as if it had not been interrupted.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        rows: Sequence[Row] = (),
        *,
        feasible_eps: Mapping[str, float] | None = None,
        recorded: Callable[[Cell, State], None] | None = None,
    ) -> None:
        """Take up the searches where the rows leave them.

        Args:
            cells: those with `search` are searched; others are passed over.
            rows: of an earlier session, in the order in which they were run; rows that belong to no
                search are passed over.
            feasible_eps: by cell id, the highest rate for which the input has events, from
                `streamlab.lab.load.arrivals.feasible_eps`; must be the same when a run is resumed.
            recorded: is called now and after every row with the cell and how its search stands,
                e.g. a `streamlab.lab.runner.search.record.Recorder`.

        Raises:
            SearchError: a row does not fit its search.
        """
        self._cells = {
            cell.id: cell for cell in cells if cell.search is not None and cell.refusal is None
        }
        self._feasible = dict(feasible_eps or {})
        self._votes: dict[str, list[Vote]] = {id_: [] for id_ in self._cells}
        self._recorded = recorded
        self._states = {id_: self._replayed(id_) for id_ in self._cells}
        for row in rows:
            if row.get("probe") is not None:
                self._take(row)
        for id_, state in self._states.items():
            self._tell(id_, state)

    def next(self) -> SearchTrial | None:
        """Return the next trial, the same until its row is recorded; None when all are over."""
        waiting = [id_ for id_, state in self._states.items() if state.next is not None]
        if not waiting:
            return None
        id_ = min(waiting, key=lambda id_: (len(self._votes[id_]), _drawn(id_, self._votes[id_])))
        cell, step, done = self._cells[id_], self._states[id_].next, len(self._votes[id_])
        assert step is not None and cell.load is not None
        return SearchTrial(
            cell=cell,
            purpose=step.purpose,
            probe=step.probe,
            vote=step.vote,
            rate_eps=step.rate_eps,
            repetition=done + 1,
            load=msgspec.structs.replace(cell.load, rate_eps=step.rate_eps),
            pause_s=_pause_s(self._votes[id_]),
        )

    def record(self, row: Row) -> None:
        """Take in the row of a trial.

        Raises:
            SearchError: it is not the row of what its search asked for next.
        """
        self._take(row)
        self._tell(row["cell"], self._states[row["cell"]])

    def _take(self, row: Row) -> None:
        id_ = row["cell"]
        if id_ not in self._cells:
            raise SearchError(f"a trial of {id_}, which is not a cell with a search")
        _check(row, self._states[id_].next)
        self._votes[id_].append(vote_of(row))
        self._states[id_] = self._replayed(id_)

    def _tell(self, id_: str, state: State) -> None:
        if self._recorded is not None:
            self._recorded(self._cells[id_], state)

    @property
    def states(self) -> Mapping[str, State]:
        """How each search stands, by cell id."""
        return self._states

    def _replayed(self, id_: str) -> State:
        settings = self._cells[id_].search
        assert settings is not None
        return replay(settings, self._votes[id_], feasible_eps=self._feasible.get(id_))


def _drawn(id_: str, votes: Sequence[Vote]) -> bytes:
    """Return a cell's place in a round: as good as random, the same whenever it is asked for."""
    return hashlib.sha256(f"{len(votes)} {id_}".encode()).digest()


def _pause_s(votes: Sequence[Vote]) -> float:
    invalid = 0
    while invalid < len(votes) and votes[-1 - invalid].verdict == INVALID:
        invalid += 1
    return INVALID_PAUSE_S * 2 ** (invalid - 1) if 0 < invalid < INVALID_VOTES else 0.0


def vote_of(row: Row) -> Vote:
    """Return what a trial's row says about its rate.

    An `invalid` row without an offered rate is one whose load could not be made: the input is too
    short.
    """
    verdict = _VERDICTS[row["status"]]
    if verdict == INVALID and row.get("offered_eps") is None:
        verdict = TOO_SHORT
    if verdict == PASS and row.get("sustained") is not True:
        verdict = FAIL
    reason = row.get("sustained_reason") or row.get("reason")
    if verdict == STOP:
        reason = f"{row['status']}: {row.get('reason')}"
    return Vote(verdict=verdict, reason=reason)


def _check(row: Row, step: Step | None) -> None:
    where = f"{row['cell']}, probe {row['probe']}, vote {row['vote']}"
    if step is None:
        raise SearchError(f"{where}: the search was over before this trial")
    asked = (step.purpose, step.probe, step.vote)
    if (row["purpose"], row["probe"], row["vote"]) != asked:
        raise SearchError(
            f"{where} ({row['purpose']}): the search asks for probe {step.probe}, vote {step.vote} "
            f"({step.purpose}) next; remove the run's trials from there on, or begin a new run"
        )
    load = row.get("load")
    rate = None if load is None else json.loads(load).get("rate_eps")
    if rate is not None and rate != step.rate_eps:
        raise SearchError(
            f"{where}: it was run at {rate:,.6g} events/s, the search asks for "
            f"{step.rate_eps:,.6g}; begin a new run"
        )
