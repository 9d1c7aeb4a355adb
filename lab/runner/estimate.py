"""Estimates how long a run takes, from stored runs of the same cells on this machine.

A trial's time lasts until the next trial of its session starts.
The time therefore includes waiting for a calm machine, and verifying.
The estimate ignores how busy the machine is, and that input, kernels and oracle answers may be cached now.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import mean

from streamlab.json_value import JsonObject, json_number
from streamlab.lab.matrix.cells import Cell, describe
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.runner.datasets import is_made
from streamlab.lab.runner.provenance import host
from streamlab.results.errors import ResultsError
from streamlab.results.machines import compare_machines
from streamlab.results.meta import SessionRecord
from streamlab.results.row_conversion import escape_text
from streamlab.results.schema import CRASH, OOM, TrialRow
from streamlab.results.store import list_runs, read_meta, read_trials

NAMED = 3
"""Messages list at most this many runs, or cells without a time."""

CUT_SHORT = (CRASH, OOM)
"""Statuses of trials that ended early; their time does not count."""

_BEGIN, _TRIAL, _END = range(3)
"""Kinds of events of a run, in their order within one second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Estimated duration of a run.

    Attributes:
        seconds: total for all cells with a stored time, and for idle baselines.
        source: text that names the stored runs behind the estimate.
        unknown: ids of cells without a stored time.
        notes: what `seconds` leaves out, as text.
    """

    seconds: float
    source: str
    unknown: tuple[str, ...]
    notes: tuple[str, ...]


def estimate(cells: Sequence[Cell], settings: Settings, root: Path) -> Estimate:
    """Estimate how long cells take, each from the newest run that has completed the cell.

    Args:
        cells: the cells; refused cells take no time.
        settings: settings of the matrix.
        root: folder of stored runs; damaged runs are skipped.
    """
    machine = host()
    runnable = {cell.id: cell for cell in cells if cell.refusal is None}
    essences = {name: _essence(escape_text(describe(cell))) for name, cell in runnable.items()}
    seconds: dict[str, float] = {}
    runs: set[str] = set()
    for run_dir in sorted(list_runs(root), key=lambda path: path.name, reverse=True):
        if len(seconds) == len(runnable):
            break
        untimed = {name: cell for name, cell in runnable.items() if name not in seconds}
        times = _times(run_dir, untimed, essences, machine)
        if times:
            runs.add(run_dir.name)
            seconds |= times
    unknown = tuple(name for name in runnable if name not in seconds)
    idle_s = 2 * settings.idle_s if seconds else 0.0
    names = ", ".join(sorted(runs)) if len(runs) < NAMED else f"{len(runs)} stored runs"
    return Estimate(
        seconds=sum(seconds.values()) + idle_s,
        source=names,
        unknown=unknown,
        notes=tuple(_notes(cells, unknown)),
    )


def _notes(cells: Sequence[Cell], unknown: Sequence[str]) -> Iterator[str]:
    if unknown:
        names = ", ".join(unknown[:NAMED])
        suffix = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        yield f"no stored run on this machine has completed {names}{suffix}"
    entries = {cell.entry.key: cell.entry for cell in cells}
    to_make = [key for key, entry in entries.items() if not is_made(entry)]
    if to_make:
        yield f"without the time to generate input: {', '.join(to_make)}"


def _times(
    run_dir: Path,
    cells: Mapping[str, Cell],
    essences: Mapping[str, JsonObject | None],
    machine: JsonObject,
) -> dict[str, float]:
    """Return the expected seconds of the cells that a run has completed, by cell id."""
    try:
        meta = read_meta(run_dir)
        equal_cells = {name for name in cells if _essence(meta.cells.get(name)) == essences[name]}
        if not equal_cells or not compare_machines(meta.host, machine).same:
            return {}
        rows = sorted(read_trials(run_dir).values(), key=lambda row: row.order_index)
        durations = list(_durations(rows, meta.sessions, json_number(meta.settings["idle_s"])))
    except (ResultsError, AttributeError, KeyError, TypeError):  # skip damaged runs
        return {}
    by_cell: dict[str, list[float]] = {}
    for row, seconds in durations:
        # A search overloads the engine on purpose, so its crashes are part of its duration.
        is_complete = row.status not in CUT_SHORT
        if row.cell in equal_cells and (is_complete or cells[row.cell].search):
            by_cell.setdefault(row.cell, []).append(seconds)
    return {
        name: sum(times) if cells[name].search else mean(times) * cells[name].repetitions
        for name, times in by_cell.items()
        if cells[name].search is None or meta.complete
    }


def _essence(description: JsonObject | None) -> JsonObject | None:
    """Return the parts of a cell's description that determine how long a trial takes."""
    if description is None:
        return None
    return {k: v for k, v in description.items() if k not in ("repetitions", "timeout_s")}


def _durations(
    rows: Sequence[TrialRow], sessions: Sequence[SessionRecord], idle_s: float
) -> Iterator[tuple[TrialRow, float]]:
    """Yield the trials whose end is known, with their durations in seconds."""
    # A session ends with an idle baseline. A killed session has no end.
    idle_time = timedelta(seconds=idle_s)
    events: list[tuple[datetime | None, int, TrialRow | None]] = [
        *((_parse_time(session.started_at), _BEGIN, None) for session in sessions),
        *((_parse_time(row.started_at), _TRIAL, row) for row in rows),
        *((ended - idle_time, _END, None) for s in sessions if (ended := _parse_time(s.ended_at))),
    ]
    sorted_events = sorted(
        ((time, kind, row) for time, kind, row in events if time is not None),
        key=lambda event: event[:2],
    )
    for (began, _, row), (ended, kind, _) in pairwise(sorted_events):
        if row is not None and kind != _BEGIN:
            yield row, (ended - began).total_seconds()


def _parse_time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None
