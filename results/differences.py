"""Says in which fields two runs differ that must be equal for their results to be compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streamlab.results.fingerprints import content_of, fingerprint_of
from streamlab.results.machines import compare_machines
from streamlab.results.store import Row, Run

CONDITIONS = ("unit", "origin", "also_timed")
"""Columns that say what a rate includes; a run of an older lab has none, and is taken on trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field in which a cell of both runs differs; `cell` is empty for the whole run."""

    cell: str
    field: str
    old: Any
    new: Any

    def __str__(self) -> str:
        place = f"{self.cell}: " if self.cell else ""
        return f"{place}{self.field} is {self.old!r} in A, {self.new!r} in B"


def differences(old: Run, new: Run, *, by_id: bool = False) -> list[Difference]:
    """Return what decides speed and differs: of the machines, then of the cells of one id.

    Args:
        old: one run.
        new: the other.
        by_id: whether cells of one id are to be compared, wherever else their fingerprints occur.

    A cell whose fingerprint occurs in the other run has a match there, and only what its rate
    includes is looked at: that is the engine's to declare, and may change with the revision.
    """
    machines = compare_machines(old.meta["host"], new.meta["host"])
    found = [
        Difference(cell="", field=f"host.{field.name}", old=field.old, new=field.new)
        for field in machines.decisive
    ]
    old_cells, new_cells = by_cell(old), by_cell(new)
    old_prints, new_prints = cell_fingerprints(old), cell_fingerprints(new)
    all_old, all_new = set().union(*old_prints.values()), set().union(*new_prints.values())
    for cell, ours in old_cells.items():
        theirs = new_cells.get(cell)
        if theirs is None:
            continue
        elsewhere = old_prints[cell] & all_new or new_prints[cell] & all_old
        if not old_prints[cell] & new_prints[cell] and (by_id or not elsewhere):
            found += _of_cell(old, ours[0], new, theirs[0], known=bool(machines.decisive))
        found += [
            Difference(cell=cell, field=name, old=ours[0][name], new=theirs[0][name])
            for name in CONDITIONS
            if None not in (ours[0][name], theirs[0][name]) and ours[0][name] != theirs[0][name]
        ]
    return found


def _of_cell(old: Run, ours: Row, new: Run, theirs: Row, *, known: bool) -> list[Difference]:
    """Return the fields in which two cells of different fingerprints differ.

    Without `known`, which states that their machines differ, it is at least one field.
    """
    cell = ours["cell"]
    fields = [
        Difference(cell=cell, field=path, old=a, new=b)
        for path, a, b in _leaves(content_of(old, ours), content_of(new, theirs))
    ]
    if fields or known:
        return fields
    # The hash covers something that run.json does not record: another version of the lab made it.
    before, after = (
        f"{row['fingerprint']} ({run.meta.get('lab_version')})"
        for run, row in ((old, ours), (new, theirs))
    )
    return [Difference(cell=cell, field="fingerprint (lab_version)", old=before, new=after)]


def told(found: Sequence[Difference]) -> list[str]:
    """Return differences as text; those that are alike in several cells are told once."""
    cells: dict[tuple[str, str, str], list[str]] = {}
    for item in found:
        cells.setdefault((item.field, repr(item.old), repr(item.new)), []).append(item.cell)
    return [
        f"{field} is {old} in A, {new} in B" + (f" ({', '.join(names)})" if any(names) else "")
        for (field, old, new), names in cells.items()
    ]


def by_cell(run: Run) -> dict[str, list[Row]]:
    """Return the trials of a run by cell."""
    found: dict[str, list[Row]] = {}
    for row in run.rows:
        found.setdefault(row["cell"], []).append(row)
    return found


def cell_fingerprints(run: Run) -> dict[str, set[str]]:
    """Return the fingerprints of each cell's trials: one, unless several labs made them."""
    return {cell: {fingerprint_of(run, row) for row in rows} for cell, rows in by_cell(run).items()}


def _leaves(old: Any, new: Any, path: str = "") -> Iterable[tuple[str, Any, Any]]:
    """Yield each place at which two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from _leaves(old.get(key), new.get(key), inner)
    elif old != new:
        yield path, old, new
