"""Finds the fields that differ between two runs but must be equal for a fair comparison."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamlab.results.fingerprints import content_of
from streamlab.results.machines import compare_machines
from streamlab.results.query import group_by
from streamlab.results.schema import TrialRow
from streamlab.results.store import Run

CONDITIONS = ("unit", "origin", "also_timed")
"""Columns with the conditions of a rate. Runs of older labs lack them; a missing value counts as equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field that differs between two runs; `cell` is empty for a field of the whole run."""

    cell: str
    field: str
    old: Any
    new: Any

    def __str__(self) -> str:
        place = f"{self.cell}: " if self.cell else ""
        return f"{place}{self.field} is {self.old!r} in A, {self.new!r} in B"


def differences(old: Run, new: Run, *, by_id: bool = False) -> list[Difference]:
    """Return the differing fields that decide speed: first of the machines, then of cells with equal ids.

    If a cell's fingerprint occurs in the other run, only the conditions of its rate are compared. Engines
    declare these conditions, so another revision may declare others.
    With `by_id`, cells with equal ids are compared even if their fingerprints match other cells.
    """
    machines = compare_machines(old.meta.host, new.meta.host)
    unequal = [
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
        matches_other_cell = old_prints[cell] & all_new or new_prints[cell] & all_old
        if not old_prints[cell] & new_prints[cell] and (by_id or not matches_other_cell):
            explained = bool(machines.decisive)
            unequal += _cell_differences(old, ours[0], new, theirs[0], explained=explained)
        unequal += [
            Difference(cell=cell, field=name, old=a, new=b)
            for name in CONDITIONS
            for a, b in [(getattr(ours[0], name), getattr(theirs[0], name))]
            if None not in (a, b) and a != b
        ]
    return unequal


def _cell_differences(
    old: Run, ours: TrialRow, new: Run, theirs: TrialRow, *, explained: bool
) -> list[Difference]:
    """Return the fields in which two cells of different fingerprints differ.

    Returns at least one field, unless the machines already explain the difference (`explained`).
    """
    cell = ours.cell
    fields = [
        Difference(cell=cell, field=path, old=a, new=b)
        for path, a, b in differing_values(content_of(old, ours), content_of(new, theirs))
    ]
    if fields or explained:
        return fields
    # No recorded field differs, so another lab version hashed a value that run.json lacks.
    before, after = (
        f"{row.fingerprint} ({run.meta.lab_version})" for run, row in ((old, ours), (new, theirs))
    )
    return [Difference(cell=cell, field="fingerprint (lab_version)", old=before, new=after)]


def describe_differences(items: Sequence[Difference]) -> list[str]:
    """Return differences as text; equal differences of several cells share a line."""
    groups = group_by(items, lambda item: str(replace(item, cell="")))
    names = {text: [item.cell for item in group] for text, group in groups.items()}
    return [text + (f" ({', '.join(c)})" if any(c) else "") for text, c in names.items()]


def by_cell(run: Run) -> dict[str, list[TrialRow]]:
    """Return the trials of a run by cell."""
    return group_by(run.rows, lambda row: row.cell)


def cell_fingerprints(run: Run) -> dict[str, set[str]]:
    """Return the fingerprints of each cell's trials; more than one only if several lab versions ran the cell."""
    return {cell: {row.fingerprint or "" for row in rows} for cell, rows in by_cell(run).items()}


def differing_values(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield path and both values of each difference between two JSON values; a missing value is None."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from differing_values(old.get(key), new.get(key), inner)
    elif old != new:
        yield path, old, new
