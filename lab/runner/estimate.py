"""About how long a run will take, from stored runs of the same cells on this machine.

A trial's time is from its start to the start of the next one in its session, so that waiting for a
calm machine, verifying and all else is in it. It is a guess: input, kernels and oracles' answers
that were made then are found now, and another load of the machine takes longer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from streamlab.lab.matrix.cells import Cell, describe
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.runner.datasets import is_made
from streamlab.lab.runner.provenance import host
from streamlab.results.errors import ResultsError
from streamlab.results.fit import encodable
from streamlab.results.machines import compare_machines
from streamlab.results.meta import check_meta
from streamlab.results.schema import CRASH, OOM
from streamlab.results.store import Row, list_runs, read_meta, read_trials

NAMED = 3
"""Of the cells without a time, these are named."""

CUT_SHORT = (CRASH, OOM)
"""Trials that ended before their time: they do not say how long one takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long a run takes.

    Attributes:
        seconds: of all cells that are known, and of idle baselines.
        source: which runs say so, in words.
        unknown: ids of the cells that no stored run has.
        notes: what is not in it, in words.
    """

    seconds: float
    source: str
    unknown: tuple[str, ...]
    notes: tuple[str, ...]


def estimate(cells: Sequence[Cell], settings: Settings, root: Path) -> Estimate:
    """Return about how long cells take; the newest run that has a cell says so.

    Args:
        cells: the cells; one that is refused takes no time.
        settings: of the matrix.
        root: where runs are stored; damaged ones are passed over.
    """
    machine = host()
    wanted = {cell.id: cell for cell in cells if cell.refusal is None}
    essences = {name: _essence(encodable(describe(cell))) for name, cell in wanted.items()}
    known: dict[str, float] = {}
    runs: set[str] = set()
    for run_dir in sorted(list_runs(root), key=lambda path: path.name, reverse=True):
        if len(known) == len(wanted):
            break
        still = {name: cell for name, cell in wanted.items() if name not in known}
        found = _times(run_dir, still, essences, machine)
        if found:
            runs.add(run_dir.name)
            known |= found
    unknown = tuple(name for name in wanted if name not in known)
    idle = 2 * settings.idle_s if known else 0.0
    names = ", ".join(sorted(runs)) if len(runs) < NAMED else f"{len(runs)} stored runs"
    return Estimate(
        seconds=sum(known.values()) + idle,
        source=names,
        unknown=unknown,
        notes=tuple(_notes(cells, unknown)),
    )


def _notes(cells: Sequence[Cell], unknown: Sequence[str]) -> Iterator[str]:
    if unknown:
        named = ", ".join(unknown[:NAMED])
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        yield f"no stored run on this machine has {named}{more} to the end"
    entries = {cell.entry.key: cell.entry for cell in cells}
    to_make = [key for key, entry in entries.items() if not is_made(entry)]
    if to_make:
        yield f"input to be made first, not in it: {', '.join(to_make)}"


def _times(
    run_dir: Path,
    wanted: Mapping[str, Cell],
    essences: Mapping[str, Mapping[str, Any] | None],
    machine: Mapping[str, Any],
) -> dict[str, float]:
    """Return how long cells will take, of those that a run has measured to the end."""
    try:
        meta = read_meta(run_dir)
        check_meta(run_dir, meta)
        same = {name for name in wanted if _essence(meta["cells"].get(name)) == essences[name]}
        if not same or not compare_machines(meta["host"], machine).same:
            return {}
        rows = sorted(read_trials(run_dir).values(), key=lambda row: int(row["order_index"]))
        took = list(_spent(rows, meta["sessions"], meta["settings"]["idle_s"]))
    except (ResultsError, AttributeError, KeyError, TypeError):  # a damaged run says nothing
        return {}
    spent: dict[str, list[float]] = {}
    for row, seconds in took:
        # A search asks for what cannot be borne: those trials are part of how long it takes.
        whole = row["status"] not in CUT_SHORT
        if row["cell"] in same and (whole or wanted[row["cell"]].search):
            spent.setdefault(row["cell"], []).append(seconds)
    return {
        name: sum(found) if wanted[name].search else mean(found) * wanted[name].repetitions
        for name, found in spent.items()
        if wanted[name].search is None or meta["complete"]
    }


def _essence(described: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what a trial's time depends on of what run.json says of a cell."""
    if described is None:
        return None
    return {k: v for k, v in described.items() if k not in ("repetitions", "timeout_s")}


def _spent(
    rows: Sequence[Row], sessions: Sequence[Mapping[str, Any]], idle_s: float
) -> Iterator[tuple[Row, float]]:
    """Yield trials with their seconds, those of which the end is known."""
    # A session ends with an idle baseline; one that was killed has no end.
    idle = timedelta(seconds=idle_s)
    ends = [ended - idle for session in sessions if (ended := _time(session.get("ended_at")))]
    starts = [began for session in sessions if (began := _time(session.get("started_at")))]
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        began = _time(row.get("started_at"))
        if began is None:
            continue
        known = [end for end in ends if end >= began]
        if after is not None and (follows := _time(after.get("started_at"))) is not None:
            known.append(follows)
        ended = min((moment for moment in known if moment >= began), default=None)
        if ended is not None and not any(began < start <= ended for start in starts):
            yield row, (ended - began).total_seconds()


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None
