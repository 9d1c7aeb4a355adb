"""Reads a run's searches for a sustainable rate: settings, probes and results.

A probe tests a rate, and each trial of a probe is a vote. `searches/<cell>.json` in the run directory has the bracket
(the highest rate that passed and the lowest that failed), and the outcome and votes of each probe. The rows of the
trials have the measurements. A search with a wrong answer has no number.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from streamlab.engines.conditions import BROKER
from streamlab.reports.offered_loads import OfferedLoad
from streamlab.reports.summary import Cell, summarise
from streamlab.results.errors import ResultsError
from streamlab.results.query import Spread, by_search, group_by, spread_of
from streamlab.results.schema import WRONG_OUTPUT, TrialRow
from streamlab.results.seal import read_sealed, remedy
from streamlab.results.store import Run

LEVEL = "level"
CONFIRM = "confirm"
FAIL = "fail"
CRASH = "crash"


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one trial of a probe, with reason; `status` comes from the trial's row."""

    verdict: str
    reason: str | None
    status: str = ""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A test of one rate; `outcome` is None if the probe is undecided or measures a level."""

    number: int
    purpose: str
    rate_eps: float
    outcome: str | None
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The measurement at a share of the sustainable rate; `cell` summarizes its trials."""

    share: float
    rate_eps: float
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for a sustainable rate.

    Attributes:
        name: the cell's id.
        place: the search's cell without numbers, for its place in the matrix.
        is_finished: whether the search is finished.
        pass_eps, fail_eps: the ends of the bracket; None if an end is unknown or an answer was wrong.
        confirmed, refuted: whether every confirming process agreed with `pass_eps`, and with `fail_eps`.
        reason: the limit of the bracket, or why there is no bracket; may be empty.
        wrong: whether an answer was wrong.
        load: settings of the load.
        tolerance, votes, confirmations: settings of the search.
        probes: all probes, in order.
        levels: latency at shares of `pass_eps`.
        confirming_cell: summary of the trials that confirmed `pass_eps`; None without such trials.
        catch_up_eps: catch-up rate of the same cell without the load; None if the run has no such cell.
        broker_ceiling_eps: rate through the broker without an engine; None if the load passes no broker.
    """

    name: str
    place: Cell
    is_finished: bool
    pass_eps: float | None
    fail_eps: float | None
    confirmed: bool
    refuted: bool
    reason: str
    wrong: bool
    load: OfferedLoad
    tolerance: float | None
    votes: int | None
    confirmations: int | None
    probes: tuple[Probe, ...]
    levels: tuple[Level, ...]
    confirming_cell: Cell | None
    catch_up_eps: Spread | None
    broker_ceiling_eps: Spread | None

    @property
    def is_wide(self) -> bool:
        """Whether the bracket is clearly wider than the requested tolerance."""
        if self.pass_eps is None or self.fail_eps is None or self.tolerance is None:
            return False
        return self.fail_eps / self.pass_eps - 1 > 2 * self.tolerance

    @property
    def why_fails(self) -> str:
        """The reason of the last trial that failed at the lowest failing rate; empty without one."""
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


def read_searches(run: Run, cells: Iterable[Cell]) -> tuple[Search, ...]:
    """Return the searches of a run, in the order of their first trials.

    `cells` are the run's other cells, which have the catch-up rates.

    Raises:
        ResultsError: a record of a search is damaged.
    """
    records = _read_records(run.path)
    unloaded = [cell for cell in cells if cell.load is None]
    return tuple(
        _search(name, rows, records.get(name), _settings(run, name), unloaded)
        for name, rows in by_search(run.rows).items()
    )


class _Bracket(msgspec.Struct, frozen=True, kw_only=True):
    """The bracket in a search's record; see `Search` for the fields."""

    r_pass_eps: float | None = None
    r_fail_eps: float | None = None
    confirmed: bool = False
    refuted: bool = False
    reason: str | None = None


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a search; `streamlab.lab.runner.search` writes it."""

    cell: str
    over: bool
    bracket: _Bracket
    probes: tuple[Probe, ...]


class _Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a search in the description of its cell."""

    tolerance: float | None = None
    votes: int | None = None
    confirmations: int | None = None
    levels: tuple[float, ...] = ()


def _read_records(run_dir: Path) -> dict[str, _Record]:
    records: dict[str, _Record] = {}
    for path in sorted((run_dir / "searches").glob("*.json")):
        try:
            record = msgspec.json.decode(read_sealed(run_dir, path), type=_Record)
            records[record.cell] = record
        except (OSError, ValueError) as error:
            raise ResultsError(f"{path} is damaged ({error!r}); {remedy(run_dir, path)}") from error
    return records


def _settings(run: Run, name: str) -> _Settings:
    planned = run.meta.cells.get(name) or {}
    return msgspec.convert(planned.get("search") or {}, _Settings)


def _search(
    name: str,
    rows: Sequence[TrialRow],
    record: _Record | None,
    settings: _Settings,
    unloaded: Sequence[Cell],
) -> Search:
    place = as_cell(rows)
    wrong = any(row.status == WRONG_OUTPUT for row in rows)
    bracket = _Bracket() if wrong or record is None else record.bracket
    assert place.load is not None, f"{name}: the trials of a search have a load"
    low = bracket.r_pass_eps
    confirming = confirming_trials(rows, low)
    through_broker = [row for row in rows if row.origin == BROKER]
    return Search(
        name=name,
        place=place,
        is_finished=record is not None and record.over,
        pass_eps=low,
        fail_eps=bracket.r_fail_eps,
        confirmed=bracket.confirmed,
        refuted=bracket.refuted,
        reason=_reason(rows, record, wrong=wrong),
        wrong=wrong,
        load=place.load,
        tolerance=settings.tolerance,
        votes=settings.votes,
        confirmations=settings.confirmations,
        probes=() if record is None else _probes(rows, record),
        levels=() if wrong else _levels(rows, settings.levels),
        confirming_cell=as_cell(confirming) if confirming and not wrong else None,
        catch_up_eps=_catch_up(place, unloaded),
        broker_ceiling_eps=spread_of(through_broker, "generator_ceiling_eps"),
    )


def _reason(rows: Sequence[TrialRow], record: _Record | None, *, wrong: bool) -> str:
    if wrong:
        row = next(row for row in rows if row.status == WRONG_OUTPUT)
        return f"an answer was wrong, so no rate means anything: {row.reason or ''}"
    if record is None:
        return "the run stopped before it recorded the search; lab run --resume continues it"
    return record.bracket.reason or ""


def _probes(rows: Sequence[TrialRow], record: _Record) -> tuple[Probe, ...]:
    """Return the recorded probes, with the statuses of their trials."""
    by_number = group_by(rows, lambda row: row.probe or 0)
    return tuple(
        replace(
            probe,
            votes=tuple(
                replace(vote, status=_status(by_number.get(probe.number, ()), index))
                for index, vote in enumerate(probe.votes, 1)
            ),
        )
        for probe in record.probes
    )


def _status(trials: Iterable[TrialRow], vote: int) -> str:
    return next((str(row.status) for row in trials if row.vote == vote), "")


def _levels(rows: Sequence[TrialRow], shares: Sequence[float]) -> tuple[Level, ...]:
    """Return the levels, lowest first; the probes of levels follow the order of the settings."""
    by_probe = group_by((r for r in rows if r.purpose == LEVEL), lambda row: row.probe)
    levels = [
        Level(share=share, rate_eps=_requested_eps(trials[0]), cell=as_cell(trials))
        for share, trials in zip(shares, by_probe.values(), strict=False)
    ]
    return tuple(sorted(levels, key=lambda level: level.share))


def confirming_trials(rows: Sequence[TrialRow], pass_eps: float | None) -> list[TrialRow]:
    """Return the trials of a search that confirmed its rate."""
    return [row for row in rows if row.purpose == CONFIRM and _requested_eps(row) == pass_eps]


def _catch_up(place: Cell, unloaded: Sequence[Cell]) -> Spread | None:
    """Return the catch-up rate of the cell whose id is the same except for the label of the load."""
    label = f"/{place.load.label}" if place.load and place.load.label else ""
    name = place.name.removesuffix(label)
    return next((cell.throughput_eps for cell in unloaded if cell.name == name), None)


def _requested_eps(row: TrialRow) -> float:
    return float(json.loads(row.load or "{}")["rate_eps"])


def as_cell(rows: Sequence[TrialRow]) -> Cell:
    """Summarise trials of a search as a cell."""
    (cell,) = summarise(replace(row, probe=None) for row in rows)
    return cell
