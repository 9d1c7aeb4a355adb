"""Runs all searches of a run in turns, from the rows of their trials."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from streamlab.lab.errors import SearchError
from streamlab.lab.matrix.cells import Cell, Trial
from streamlab.lab.measure.sustained_rate import Criteria
from streamlab.lab.runner.search.bisection import INVALID_VOTES, replay
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
from streamlab.results.schema import TrialRow
from streamlab.results.seal import write_sealed

_VERDICTS = {
    schema.OK: PASS,
    schema.UNSUSTAINED: FAIL,
    schema.UNSTEADY: FAIL,
    # An overloaded engine can end in any of these ways.
    schema.TIMEOUT: FAIL,
    schema.OOM: FAIL,
    schema.CRASH: CRASH,
    schema.INVALID: INVALID,
    schema.WRONG_OUTPUT: STOP,
    schema.UNSUPPORTED: STOP,
}


FOLDER = "searches"
INVALID_PAUSE_S = 5.0
"""Pause after an invalid vote; each further invalid vote in a row doubles the pause. On a virtual machine, a process
with gigabytes of memory disturbs others for some ten seconds after its end, while the host reclaims the memory."""


class Searches:
    """All searches of a run.

    The next trial belongs to the cell with the fewest trials, so that a drift of the machine affects all cells
    alike.
    Each round has a new random order, so that no cell always follows the same other cell.
    The next trial depends on the rows alone, so a resumed run gives the same trials as an uninterrupted run.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        rows: Sequence[TrialRow] = (),
        *,
        feasible_eps: Mapping[str, float] | None = None,
        run_dir: Path | None = None,
    ) -> None:
        """Continue the searches after these rows.

        Args:
            cells: cells of the run; those without `search` are ignored.
            rows: rows of earlier sessions, in the order of execution; rows outside searches are ignored.
            feasible_eps: by cell id, the highest rate for which the input has enough events, from
                `streamlab.lab.load.arrivals.feasible_eps`; must be the same when a run is resumed.
            run_dir: run directory, in which `searches/<cell>.json` is written now and after every row.

        Raises:
            SearchError: a row does not fit its search.
        """
        self._cells = {
            cell.id: cell for cell in cells if cell.search is not None and cell.refusal is None
        }
        self._feasible = dict(feasible_eps or {})
        self._votes: dict[str, list[Vote]] = {id_: [] for id_ in self._cells}
        self._run_dir = run_dir
        self._trials = len(rows)
        self._states = {id_: self._replay(id_) for id_ in self._cells}
        for row in rows:
            if row.probe is not None:
                self._take(row)
        for id_ in self._states:
            self._write(id_)

    def next(self) -> Trial | None:
        """Return the next trial, which stays the same until its row is recorded; None when all searches have ended."""
        active_ids = [id_ for id_, state in self._states.items() if state.next is not None]
        if not active_ids:
            return None
        id_ = min(active_ids, key=lambda id_: (len(self._votes[id_]), _rank(id_, self._votes[id_])))
        step = self._states[id_].next
        assert step is not None
        return Trial(
            cell=self._cells[id_],
            repetition=len(self._votes[id_]) + 1,
            order_index=self._trials,
            purpose=step.purpose,
            probe=step.probe,
            vote=step.vote,
            rate_eps=step.rate_eps,
        )

    def pause_s(self, cell: Cell) -> float:
        """Return how many seconds the machine stays idle before the next trial of a cell.

        During the pause, a disturbance that made the previous votes invalid can pass.
        """
        return _pause_s(self._votes[cell.id])

    def record(self, row: TrialRow) -> None:
        """Add the row of a trial."""
        self._take(row)
        self._trials += 1
        self._write(row.cell)

    def _take(self, row: TrialRow) -> None:
        """Add a row's vote to its search."""
        id_ = row.cell
        if id_ not in self._cells:
            raise SearchError(f"a row belongs to a search of {id_}, but this cell has no search")
        _check(row, self._states[id_].next)
        self._votes[id_].append(vote_of(row))
        self._states[id_] = self._replay(id_)

    def _write(self, id_: str) -> None:
        """Write the state of a search for people and reports; a resumed run uses the rows instead."""
        if self._run_dir is None:
            return
        cell, state = self._cells[id_], self._states[id_]
        assert cell.search is not None and cell.load is not None
        lag_ns = round(cell.load.send_lag_ms * 1e6)
        content = {
            "cell": id_,
            "settings": asdict(cell.search),
            "criteria": asdict(Criteria(most_send_lag_p99_ns=lag_ns)),
            "over": state.next is None,
            "bracket": asdict(state.bracket),
            "probes": [asdict(probe) for probe in state.probes],
        }
        path = self._run_dir / FOLDER / f"{cell.slug}.json"
        write_sealed(self._run_dir, path, (json.dumps(content, indent=1) + "\n").encode())

    @property
    def states(self) -> Mapping[str, State]:
        """Return the state of each search, by cell id."""
        return self._states

    def _replay(self, id_: str) -> State:
        settings = self._cells[id_].search
        assert settings is not None
        return replay(settings, self._votes[id_], feasible_eps=self._feasible.get(id_))


def _rank(id_: str, votes: Sequence[Vote]) -> bytes:
    """Return a cell's place in a round: pseudo-random, but reproducible."""
    return hashlib.sha256(f"{len(votes)} {id_}".encode()).digest()


def _pause_s(votes: Sequence[Vote]) -> float:
    invalid = 0
    while invalid < len(votes) and votes[-1 - invalid].verdict == INVALID:
        invalid += 1
    return INVALID_PAUSE_S * 2 ** (invalid - 1) if 0 < invalid < INVALID_VOTES else 0.0


def vote_of(row: TrialRow) -> Vote:
    """Return the vote that a trial's row gives on the trial's rate.

    An `invalid` row without an offered rate means that the input was too short for the load.
    """
    verdict = _VERDICTS[row.status]
    if verdict == INVALID and row.offered_eps is None:
        verdict = TOO_SHORT
    if verdict == PASS and row.sustained is not True:
        verdict = FAIL
    reason = row.sustained_reason or row.reason
    if verdict == STOP:
        reason = f"{row.status}: {row.reason}"
    return Vote(verdict=verdict, reason=reason)


def _check(row: TrialRow, step: Step | None) -> None:
    """Check that a row is the result of the search's next step."""
    place = f"{row.cell}, probe {row.probe}, vote {row.vote}"
    if step is None:
        raise SearchError(f"{place}: the search had ended before this trial; start a new run")
    expected = (step.purpose, step.probe, step.vote)
    if (row.purpose, row.probe, row.vote) != expected:
        raise SearchError(
            f"{place} ({row.purpose}): expected probe {step.probe}, vote {step.vote} "
            f"({step.purpose}) next; remove the run's trials from there on, or start a new run"
        )
    load = row.load
    rate = None if load is None else json.loads(load).get("rate_eps")
    if rate is not None and rate != step.rate_eps:
        raise SearchError(
            f"{place}: the trial ran at {rate:,.6g} events/s, expected {step.rate_eps:,.6g}; start a "
            "new run"
        )
