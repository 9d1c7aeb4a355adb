"""Says in which fields two runs differ that must be equal for their results to be compared."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from results.store import Row, Run

# Not part of a fingerprint: they say how often and how long, and what the dataset's id says better.
_FREE = ("repetitions", "timeout_s", "workload")

CONDITIONS = ("unit", "origin", "also_timed")
"""Columns that say what a rate includes; a run of an older lab has none, and is taken on trust."""

Comparable = Callable[[dict[str, Any]], dict[str, Any]]
"""Picks from a run's `host` what must be equal (`lab.parent.host.comparable`)."""


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


def differences(old: Run, new: Run, *, comparable: Comparable) -> list[Difference]:
    """Return the fields in which cells of one id differ, those of the host first and once.

    A cell whose fingerprint occurs in the other run has a match there, and only what its rate
    includes is looked at: that is the engine's to declare, and may change with the revision.
    """
    old_cells, new_cells = by_cell(old), by_cell(new)
    old_prints = {row["fingerprint"] for rows in old_cells.values() for row in rows}
    new_prints = {row["fingerprint"] for rows in new_cells.values() for row in rows}
    open_cells = [
        cell
        for cell in old_cells
        if cell in new_cells
        and not {row["fingerprint"] for row in old_cells[cell]} & new_prints
        and not {row["fingerprint"] for row in new_cells[cell]} & old_prints
    ]
    unlike = [
        Difference(cell=cell, field=name, old=ours[0][name], new=new_cells[cell][0][name])
        for cell, ours in old_cells.items()
        if cell in new_cells
        for name in CONDITIONS
        if None not in (ours[0][name], new_cells[cell][0][name])
        and ours[0][name] != new_cells[cell][0][name]
    ]
    if not open_cells:
        return unlike
    old_host, new_host = comparable(dict(old.meta["host"])), comparable(dict(new.meta["host"]))
    found = [
        Difference(cell="", field=f"host.{path}", old=a, new=b)
        for path, a, b in _leaves(old_host, new_host)
    ]
    for cell in open_cells:
        ours = _described(old, cell, old_cells[cell])
        theirs = _described(new, cell, new_cells[cell])
        fields = [
            Difference(cell=cell, field=path, old=a, new=b) for path, a, b in _leaves(ours, theirs)
        ]
        if not fields and not found:
            # The hash is made of something that run.json does not tell: another lab made it.
            fields = [
                Difference(
                    cell=cell,
                    field="fingerprint (lab_version)",
                    old=f"{old_cells[cell][0]['fingerprint']} ({old.meta.get('lab_version')})",
                    new=f"{new_cells[cell][0]['fingerprint']} ({new.meta.get('lab_version')})",
                )
            ]
        found += fields
    return found + unlike


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


def _described(run: Run, cell: str, rows: Sequence[Row]) -> dict[str, Any]:
    content = {
        k: v for k, v in (run.meta.get("cells") or {}).get(cell, {}).items() if k not in _FREE
    }
    return content | {"dataset": rows[0]["dataset"]}


def _leaves(old: Any, new: Any, path: str = "") -> Iterable[tuple[str, Any, Any]]:
    """Yield each place at which two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from _leaves(old.get(key), new.get(key), inner)
    elif old != new:
        yield path, old, new
