"""Reads the list of accepted regressions and applies it to a gate's report.

[[accept]]
cell = "event_window/multicore/*"   # pattern on cell ids or benchmark names
metric = "wall"                     # or "*"
until_ratio = 1.15                  # accepted up to this cost of new over old
reason = "ordered output costs a merge (decision 0007)"
expires = 2027-03-31                # optional; the last day on which the entry counts
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.gate.outcome import GateReport, Line, Verdict
from streamlab.lab.matrix.toml_table import REQUIRED, TomlTable, is_finite, parse_toml, read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One entry of the list.

    Attributes:
        cell, metric: patterns, as in the file.
        until_ratio: largest accepted ratio of the new cost to the old.
        expires: last day on which the entry counts; None if it does not expire.
        place: file and number of the entry, for messages.
    """

    cell: str
    metric: str
    until_ratio: float
    reason: str
    expires: date | None
    place: str

    def covers(self, line: Line) -> bool:
        """Return whether the entry matches the line's cell and metric."""
        return fnmatchcase(line.cell, self.cell) and fnmatchcase(line.metric, self.metric)


def read_accepted(path: Path) -> tuple[Acceptance, ...]:
    """Read a list.

    Raises:
        MatrixError: the file cannot be read, is not TOML, or has a wrong key or value.
    """
    content = parse_toml(read_text(path, "the accepted regressions"), str(path))
    top = TomlTable(str(path), "top level", content)
    tables = top.take(
        "accept",
        "[[accept]] tables",
        lambda v: isinstance(v, list) and all(isinstance(table, dict) for table in v),
        [],
    )
    top.done()
    return tuple(_parse_entry(str(path), number, table) for number, table in enumerate(tables, 1))


def check_accepted(accepted: Sequence[Acceptance], cells: Sequence[str]) -> None:
    """Refuse a list with an entry that matches no cell of the matrix, before anything is measured."""
    for entry in _unused_entries(accepted, cells):
        names = ", ".join(dict.fromkeys(cells))
        raise GateError(f"{entry}; the matrix has {names}; remove the entry")


def _unused_entries(accepted: Sequence[Acceptance], cells: Sequence[str]) -> Iterator[str]:
    for entry in accepted:
        if not any(fnmatchcase(cell, entry.cell) for cell in cells):
            yield f"{entry.place}: no cell matches {entry.cell!r}"


def apply_accepted(report: GateReport, accepted: Sequence[Acceptance], today: date) -> GateReport:
    """Return the report with accepted regressions marked, and a note for each used or unused entry.

    A wrong answer is never accepted.
    """
    notes = list(report.notes)
    notes += _unused_entries(accepted, [line.cell for line in report.lines])
    lines = [_apply_to_line(line, accepted, today, notes) for line in report.lines]
    return replace(report, lines=lines, notes=notes)


def _apply_to_line(
    line: Line, accepted: Iterable[Acceptance], today: date, notes: list[str]
) -> Line:
    """Return the line, marked if an entry accepts its regression; add a note to `notes` for each matching entry."""
    if line.word is not Verdict.REGRESSION or line.ratio is None:
        return line
    for entry in accepted:
        if not entry.covers(line):
            continue
        summary = f"{line.cell} {line.metric}: {line.ratio:.3f}, {entry.place} ({entry.reason})"
        if entry.expires is not None and today > entry.expires:
            notes.append(f"acceptance expired on {entry.expires}: {summary}")
        elif line.ratio > entry.until_ratio:
            notes.append(f"worse than accepted, {entry.until_ratio:g}: {summary}")
        else:
            notes.append(f"accepted up to {entry.until_ratio:g}: {summary}")
            return replace(line, word=Verdict.ACCEPTED, note=entry.reason)
    return line


def _parse_entry(file: str, number: int, content: object) -> Acceptance:
    name = f"[[accept]] {number}"
    table = TomlTable(file, name, content)
    entry = Acceptance(
        cell=table.text("cell", REQUIRED),
        metric=table.text("metric", REQUIRED),
        until_ratio=float(
            table.take(
                "until_ratio",
                "a finite number above 1",
                lambda v: is_finite(v) and v > 1,
                REQUIRED,
            )
        ),
        reason=table.text("reason", REQUIRED),
        expires=table.take(
            "expires",
            "a date such as 2027-03-31",
            lambda v: isinstance(v, date) and not isinstance(v, datetime),
            None,
        ),
        place=f"{file}, {name}",
    )
    table.done()
    return entry
