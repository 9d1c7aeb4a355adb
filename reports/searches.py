"""Reads a run's searches for a sustainable rate: their settings, probes and results.

The trials' rows have the votes. `searches/<cell>.json` of the run directory, or else run.json, has the
bracket and the outcomes of probes. A search with a wrong answer has no number.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from streamlab.reports.search_text import Level, Probe, Search, Vote
from streamlab.reports.summary import Cell, summarise
from streamlab.results.errors import ResultsError
from streamlab.results.query import Spread, by_search
from streamlab.results.schema import WRONG_OUTPUT, TrialRow
from streamlab.results.seal import read_sealed, remedy
from streamlab.results.store import Run

LEVEL = "level"
CONFIRM = "confirm"


def read_searches(run: Run, cells: Iterable[Cell]) -> tuple[Search, ...]:
    """Return the searches of a run, in the order of their first trials.

    Args:
        run: the run.
        cells: the run's other cells, for the catch-up rates.

    Raises:
        ResultsError: a record of a search is damaged.
    """
    records = dict(run.meta.recorded.get("searches") or {}) | _read_records(run.path)
    free = [cell for cell in cells if cell.load is None]
    return tuple(
        _search(name, rows, records.get(name) or {}, _settings(run, name), free)
        for name, rows in by_search(run.rows).items()
    )


def _read_records(run_dir: Path) -> dict[str, Any]:
    records = {}
    for path in sorted((run_dir / "searches").glob("*.json")):
        try:
            content = json.loads(read_sealed(run_dir, path))
            records[content["cell"]] = content
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path} is damaged ({error!r}); {remedy(run_dir, path)}") from error
    return records


def _settings(run: Run, name: str) -> Mapping[str, Any]:
    planned = run.meta.cells.get(name) or {}
    return planned.get("search") or {}


def _search(
    name: str,
    rows: Sequence[TrialRow],
    record: Mapping[str, Any],
    settings: Mapping[str, Any],
    free: Sequence[Cell],
) -> Search:
    place = _as_cell(rows)
    wrong = any(row.status == WRONG_OUTPUT for row in rows)
    bracket = {} if wrong else record.get("bracket") or {}
    load = place.load
    assert load is not None, f"{name}: the trials of a search have a load"
    low = bracket.get("r_pass_eps")
    return Search(
        name=name,
        place=place,
        over=bool(record.get("over")),
        pass_eps=low,
        fail_eps=bracket.get("r_fail_eps"),
        confirmed=bool(bracket.get("confirmed")),
        refuted=bool(bracket.get("refuted")),
        reason=_reason(rows, record, wrong=wrong),
        wrong=wrong,
        arrival=load.arrival,
        warm_up_s=load.warm_up_s,
        window_s=load.window_s,
        objective=load.objective,
        tolerance=settings.get("tolerance"),
        votes=settings.get("votes"),
        confirmations=settings.get("confirmations"),
        probes=_probes(rows, record),
        levels=() if wrong else _levels(rows, settings.get("levels") or (), low),
        at_rate=None if wrong else _at_rate(rows, low),
        catch_up_eps=_catch_up(place, free),
    )


def _reason(rows: Sequence[TrialRow], record: Mapping[str, Any], *, wrong: bool) -> str:
    if wrong:
        row = next(row for row in rows if row.status == WRONG_OUTPUT)
        return f"an answer was wrong, so no rate means anything: {row.reason or ''}"
    if not record:
        return "the run stopped before it recorded the search; lab run --resume continues it"
    return str((record.get("bracket") or {}).get("reason") or "")


def _probes(rows: Sequence[TrialRow], record: Mapping[str, Any]) -> tuple[Probe, ...]:
    """Return the recorded probes, or derive them from the rows if there is no record."""
    by_number: dict[int, list[TrialRow]] = {}
    for row in rows:
        by_number.setdefault(row.probe or 0, []).append(row)
    if not record:
        return tuple(
            Probe(
                number=number,
                purpose=trials[0].purpose or "",
                rate_eps=_requested_eps(trials[0]),
                outcome="",
                votes=tuple(
                    Vote(verdict="", status=row.status, reason=row.reason or "") for row in trials
                ),
            )
            for number, trials in by_number.items()
        )
    return tuple(
        Probe(
            number=probe["number"],
            purpose=probe["purpose"],
            rate_eps=probe["rate_eps"],
            outcome=probe["outcome"] or "",
            votes=tuple(
                Vote(
                    verdict=vote["verdict"],
                    status=_status(by_number.get(probe["number"], ()), place),
                    reason=vote["reason"] or "",
                )
                for place, vote in enumerate(probe["votes"], 1)
            ),
        )
        for probe in record.get("probes") or ()
    )


def _status(trials: Iterable[TrialRow], vote: int) -> str:
    return next((str(row.status) for row in trials if row.vote == vote), "")


def _levels(
    rows: Sequence[TrialRow], shares: Sequence[float], found_eps: float | None
) -> tuple[Level, ...]:
    """Return the levels, lowest first; their probes are in the order of the settings."""
    by_probe: dict[int, list[TrialRow]] = {}
    for row in rows:
        if row.purpose == LEVEL:
            by_probe.setdefault(row.probe or 0, []).append(row)
    levels = []
    for place, trials in enumerate(by_probe.values()):
        rate_eps = _requested_eps(trials[0])
        if place < len(shares):
            share = shares[place]
        elif found_eps:
            share = rate_eps / found_eps
        else:
            continue
        levels.append(Level(share=share, rate_eps=rate_eps, cell=_as_cell(trials)))
    return tuple(sorted(levels, key=lambda level: level.share))


def _at_rate(rows: Sequence[TrialRow], found_eps: float | None) -> Cell | None:
    held = [row for row in rows if row.purpose == CONFIRM and _requested_eps(row) == found_eps]
    return _as_cell(held) if held else None


def _catch_up(place: Cell, free: Sequence[Cell]) -> Spread | None:
    """Return the catch-up rate of the cell that has this id without the label of the load."""
    label = f"/{place.load.label}" if place.load and place.load.label else ""
    name = place.name.removesuffix(label)
    return next((cell.throughput_eps for cell in free if cell.name == name), None)


def _requested_eps(row: TrialRow) -> float:
    return float(json.loads(row.load or "{}")["rate_eps"])


def _as_cell(rows: Sequence[TrialRow]) -> Cell:
    """Summarise trials of a search as a cell."""
    (cell,) = summarise(replace(row, probe=None) for row in rows)
    return cell
