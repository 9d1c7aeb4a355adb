"""Reads CSV for kinds of imports: columns chosen by name or number, a record at a time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import BadRowError, ImportOptions, Setting
from workloads.datasets.imports.lines import shown_text
from workloads.datasets.imports.raw import At, Part, parts
from workloads.datasets.text.csv_text import CsvText, checked_delimiter
from workloads.datasets.text.records import BadRecord

if TYPE_CHECKING:
    import pyarrow as pa

QUOTES_SETTING = Setting(
    name="no-quotes",
    default=False,
    help="In CSV, read a quote as a plain character, and every line as a row.",
)
CSV_SETTINGS = (
    Setting(
        name="delimiter",
        default=",",
        help=r"Character between CSV columns (or \t); a blank: any run of blanks and tabs.",
    ),
    QUOTES_SETTING,
)
"""For kinds that read CSV, to be among their `settings`."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The chosen cells of one CSV record.

    Attributes:
        file: name of the file that it is in.
        cells: text by role (the names on the left in `--columns`); bytes that are not UTF-8 are
            surrogate escapes.
        bad: why it is no record; empty when it is one.
        further: how many lines it has after its first.
    """

    file: str
    cells: Mapping[str, str]
    bad: str = ""
    further: int = 0

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
        named = (f"{role}={text}" if role else text for role, text in self.cells.items())
        return shown_text(", ".join(named))


def every_part(part: Part) -> bool:
    """Want all texts of a raw file."""
    return True


def read_csv(
    path: Path,
    options: ImportOptions,
    at: At,
    wanted: Callable[[Part], bool] = every_part,
) -> Iterator[tuple[str, Cells]]:
    """Yield (place of its lines, cells) of all CSV records in a raw file: `ImportKind.read`.

    `options.columns` names the column of each role: by the names in the first record, or, when all
    are numbers, counted from 1, and then the first record is a row like the others. Every text in
    an archive has its own first record. Empty lines are passed over, and so are texts of an archive
    that are not `wanted`.

    Raises:
        DatasetError: a column is missing, the delimiter is not one character, a quote is never
            closed, or the file is truncated, damaged or cannot be read.
    """
    delimiter = checked_delimiter(options.settings.get("delimiter", ","), "--delimiter")
    quoted = not options.settings.get("no-quotes", False)
    if not options.columns:
        raise DatasetError("CSV needs --columns, such as ts=time,text=body")
    by_number = all(column.isdecimal() for column in options.columns.values())
    for part in filter(wanted, parts(path)):
        text = CsvText(part, delimiter, quoted=quoted, header=not by_number)
        yield from _records(part, text, options.columns, at)
        at(part.at())


def _records(
    part: Part, text: CsvText, columns: Mapping[str, str], at: At
) -> Iterator[tuple[str, Cells]]:
    names = text.names()
    chosen = _chosen(part.place, names, columns)
    for rows in text.rows(len(names), chosen):
        at(part.at())
        bad = iter(rows.bad)
        next_bad = next(bad, None)
        cells = (_texts(column) for column in rows.columns)
        numbers = (each.tolist() for each in (rows.row, rows.line, rows.further))
        for row, line, further, *values in zip(*numbers, *cells, strict=True):
            while next_bad is not None and next_bad.row < row:
                yield _bad(part, next_bad)
                next_bad = next(bad, None)
            of_role = dict(zip(columns, values, strict=True))
            yield _place(part, line, further), Cells(part.name, of_role, "", further)
        while next_bad is not None:
            yield _bad(part, next_bad)
            next_bad = next(bad, None)


def _texts(column: "pa.Array") -> list[str]:
    """Return cells as texts, bytes that are not UTF-8 as surrogate escapes."""
    import pyarrow as pa

    try:
        texts: list[str] = column.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid:
        texts = [cell.decode("utf-8", errors="surrogateescape") for cell in column.to_pylist()]
    return texts


def _bad(part: Part, record: BadRecord) -> tuple[str, Cells]:
    start = record.start.decode("utf-8", errors="replace")
    cells = Cells(part.name, {"": start}, record.reason, record.further)
    return _place(part, record.line, record.further), cells


def _place(part: Part, line: int, further: int) -> str:
    return f"{part.place}:{line}-{line + further}" if further else f"{part.place}:{line}"


def _chosen(place: str, names: tuple[str, ...], columns: Mapping[str, str]) -> list[int]:
    """Return the index of the column of each role."""
    missing = [column for column in columns.values() if column not in names]
    if missing:
        raise DatasetError(
            f"{place}: no column {', '.join(missing)}; there are {', '.join(names)}; --columns "
            "names columns by the first line, or by number from 1 where it is no header"
        )
    return [names.index(column) for column in columns.values()]
