"""Reads CSV: records whose quoted cells may hold line ends, columns chosen by name or number."""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import BadRowError, ImportOptions, Setting
from workloads.datasets.imports.lines import LINES_PER_REPORT, cut_lines, shown_text
from workloads.datasets.imports.raw import At, Part, parts, readable

CSV_SETTINGS = (Setting(name="delimiter", default=",", help="Character between CSV columns."),)
"""For kinds that read CSV, to be among their `settings`."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The chosen cells of one CSV record.

    Attributes:
        file: name of the file that it is in.
        cells: text by role (the names on the left in `--columns`); bytes that are not UTF-8 are
            surrogate escapes.
        bad: why it is no record; empty when it is one.
    """

    file: str
    cells: Mapping[str, str]
    bad: str = ""

    def __getitem__(self, role: str) -> str:
        """Return the text of a role.

        Raises:
            BadRowError: the record is bad, or the cell is not UTF-8.
        """
        if self.bad:
            raise BadRowError(self.bad)
        text = self.cells[role]
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadRowError(f"column {role} is not UTF-8") from error
        return text

    def shown(self) -> str:
        """Return its beginning, for messages."""
        return shown_text(", ".join(f"{role}={text}" for role, text in self.cells.items()))


def every_part(part: Part) -> bool:
    """Want all texts of a raw file."""
    return True


def read_csv(
    path: Path,
    options: ImportOptions,
    at: At,
    wanted: Callable[[Part], bool] = every_part,
) -> Iterator[tuple[str, Cells]]:
    """Yield (place of its first line, cells) of all CSV records in a raw file: `ImportKind.read`.

    `options.columns` names the column of each role: by the names in the first record, or, when all
    are numbers, counted from 1, and then the first record is a row like the others. Every text in
    an archive has its own first record. Empty lines are passed over, and so are texts of an archive
    that are not `wanted`.

    Raises:
        DatasetError: a column is missing, the delimiter is not one character, or the file is
            truncated, damaged or cannot be read.
    """
    delimiter = str(options.settings.get("delimiter", ","))
    if len(delimiter) != 1:
        raise DatasetError(f"--delimiter is {delimiter!r}; give one character")
    if not options.columns:
        raise DatasetError("CSV needs --columns, such as ts=time,text=body")
    for part in filter(wanted, parts(path)):
        yield from _records(part, options.columns, delimiter, at)
        at(part.at())


def _records(
    part: Part, columns: Mapping[str, str], delimiter: str, at: At
) -> Iterator[tuple[str, Cells]]:
    reader = csv.reader(_text(part.file), delimiter=delimiter, strict=True)
    by_number = all(column.isdecimal() for column in columns.values())
    chosen = {role: int(column) - 1 for role, column in columns.items()} if by_number else None
    with readable(part.place, lambda: f"line {reader.line_num}"):
        while True:
            place = f"{part.place}:{reader.line_num + 1}"
            if reader.line_num % LINES_PER_REPORT == 0:
                at(part.at())
            try:
                record = next(reader, None)
            except csv.Error as error:  # the next call begins a new record
                yield place, Cells(part.name, {}, f"not CSV ({error})")
                continue
            if record is None:
                return
            if not record:
                continue
            if chosen is None:
                chosen = _named(record, columns, place)
            elif max(chosen.values()) >= len(record) or min(chosen.values()) < 0:
                yield place, Cells(part.name, dict(_enumerated(record)), _short(record, chosen))
            else:
                cells = {role: record[index] for role, index in chosen.items()}
                yield place, Cells(part.name, cells)


def _named(header: list[str], columns: Mapping[str, str], place: str) -> dict[str, int]:
    names = [name.strip() for name in header]
    missing = [column for column in columns.values() if column not in names]
    if missing:
        raise DatasetError(
            f"{place}: no column {', '.join(missing)}; there are {', '.join(names)}; --columns "
            "names columns by the first line, or by number from 1 where it is no header"
        )
    return {role: names.index(column) for role, column in columns.items()}


def _enumerated(record: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (number from 1, cell) of a record, for messages."""
    for number, cell in enumerate(record, start=1):
        yield str(number), cell


def _short(record: list[str], chosen: Mapping[str, int]) -> str:
    return f"{len(record)} columns; column {max(chosen.values()) + 1} is wanted"


def _text(file: IO[bytes]) -> Iterator[str]:
    for line in cut_lines(file):
        yield line.decode("utf-8", errors="surrogateescape")
