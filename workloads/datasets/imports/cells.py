"""Holds the cells of a chunk of rows by role (the purpose of a column), and records bad and skipped rows.

The transform of an import kind maps `Cells` to columns. Each check marks bad rows. Only the first reason for a
row counts. A skipped row is not checked further.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.cells import decode_column, is_text, mask_of, parse_numbers
from streamlab.workloads.datasets.tables.source import Part
from streamlab.workloads.datasets.text.csv_text import LINE
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.times import ColumnTimes

T = TypeVar("T")
_SHOWN_CHARACTERS = 120
"""Maximum number of characters of a bad row in a message."""


class BadRowError(Exception):
    """A row's cells are invalid; the message states the reason."""


class Cells:
    """The cells of a chunk of rows.

    Attributes:
        part: the text or file of the rows.
        chunk: the rows.
        bad: by row: why the row is bad.
        skipped: bool mask of the rows that the import skips.
    """

    def __init__(self, part: Part, chunk: Chunk, roles: Sequence[str], times: ColumnTimes) -> None:
        self.part, self.chunk, self._times = part, chunk, times
        self.bad: dict[int, str] = {}
        self.skipped = np.zeros(chunk.batch.num_rows, np.bool_)
        self._shown_roles = tuple(roles)
        self._columns = dict(zip(roles, map(decode_column, chunk.batch.columns), strict=True))

    def __len__(self) -> int:
        return len(self.skipped)

    def __contains__(self, role: str) -> bool:
        return role in self._columns

    def add(self, role: str, column: "pa.Array") -> None:
        """Add a column derived from others."""
        self._columns[role] = column

    def texts(self, role: str) -> "pa.Array":
        """Return a column as texts; missing texts are empty. Raises `DatasetError` for lists and binary data."""
        column = self._columns[role]
        kind = column.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise DatasetError(
                f"{self.part.place}: column {role} is of type {kind}; give texts or numbers"
            )
        return column.cast(pa.string()).fill_null("")

    def stripped(self, role: str) -> "pa.Array":
        """Return a column as texts without surrounding blanks."""
        return pc.utf8_trim_whitespace(self.texts(role))

    def words(self, role: str) -> "pa.Array":
        """Return a column as texts; rows with an empty text are bad."""
        texts = self.texts(role)
        self.mark(mask_of(pc.equal(texts, "")), f"column {role} is empty")
        return texts

    def integers(
        self,
        role: str,
        highest: int,
        *,
        lowest: int = 0,
        absent: Iterable[str] = (),
        default: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return a column of whole numbers; a row is bad unless its number is within the bounds (inclusive).

        Texts in `absent` stand for a missing number. Missing and bad numbers become `default`.
        """
        column = self._columns[role]
        if not pa.types.is_floating(column.type) and (
            column.null_count or not pa.types.is_integer(column.type)
        ):
            column = self.texts(role)
        missing = np.zeros(len(self), np.bool_)
        if absent:
            missing = mask_of(pc.is_in(column, pa.array(list(absent), column.type)))
            column = pc.if_else(pa.array(~missing), column, str(default))
        cells = parse_numbers(column, np.dtype(np.int64), f"{self.part.place}: column {role}")
        values = cells.values
        wrong = cells.empty | (values < lowest) | (values > highest)
        wrong[list(cells.bad)] = True
        wrong &= ~missing
        values = np.where(wrong, default, values) if wrong.any() else values

        def reason(row: int) -> str:
            text = str(column[row].as_py() or "")
            if text.isascii() and text.isdigit() and int(text) > highest:
                return f"column {role} is {text}, above {highest}"
            return f"column {role} is {text!r}, not a whole number from {lowest}"

        self.mark(wrong, reason)
        return values

    def parse_texts(
        self, role: str, parse: Callable[[str], Any], kind: "pa.DataType"
    ) -> "pa.Array":
        """Return the results of a function for a column's texts, as an array of an Arrow type.

        The function is called once for each distinct text. It raises `BadRowError` for a text that makes a row bad.
        """
        coded = self.texts(role).dictionary_encode()
        results: list[Any] = []
        wrong: dict[int, str] = {}
        for code, text in enumerate(coded.dictionary.to_pylist()):
            try:
                results.append(parse(text))
            except BadRowError as error:
                wrong[code] = str(error)
                results.append(None)
        codes = np.asarray(coded.indices)
        self.mark(np.isin(codes, list(wrong)), lambda row: wrong[int(codes[row])])
        values = pa.array(results, kind)
        return values.fill_null("" if is_text(kind) else 0).take(coded.indices)

    def map_rows(self, make: Callable[..., T], *columns: Iterable[Any]) -> list[T | None]:
        """Return a function's result for each row; None for bad and skipped rows."""
        results: list[T | None] = [None] * len(self)
        for row, values in enumerate(zip(*columns, strict=True)):
            if self.skipped[row] or row in self.bad:
                continue
            try:
                results[row] = make(*values)
            except BadRowError as error:
                self.note(row, str(error))
        return results

    def parse_lines(
        self, parse: Callable[[str], Sequence[Any]], defaults: Mapping[str, object]
    ) -> dict[str, Any]:
        """Return the columns that a function computes from lines, with `ts` as event times.

        Args:
            parse: returns the values of a line, in the order of `defaults`.
            defaults: by column: the value for bad and skipped rows.
        """
        rows = self.map_rows(parse, self.texts(LINE).to_pylist())
        columns = {
            name: [default if row is None else row[index] for row in rows]
            for index, (name, default) in enumerate(defaults.items())
        }
        return columns | {"ts": self.times_of(pa.array(columns["ts"], pa.string()))}

    def times(self, role: str) -> npt.NDArray[np.int64]:
        """Return a column of event times; rows without a valid time are bad."""
        return self.times_of(self._columns[role])

    def times_of(self, column: "pa.Array") -> npt.NDArray[np.int64]:
        """Return the event times of an array with one element per row."""
        if self.skipped.any():
            column = pc.if_else(pa.array(~self.skipped), column, None)
        ts, bad = self._times.read(column, self.part.place, self._row)
        for row, reason in bad.items():
            self.note(row, reason)
        return ts

    def note(self, row: int, reason: str) -> None:
        """Record a row as bad, unless it is skipped."""
        if not self.skipped[row]:
            self.bad.setdefault(row, reason)

    def mark(self, rows: npt.NDArray[np.bool_], reason: str | Callable[[int], str]) -> None:
        """Record all rows of a mask as bad."""
        for row in np.flatnonzero(rows).tolist():
            self.note(row, reason if isinstance(reason, str) else reason(row))

    def skip(self, rows: npt.NDArray[np.bool_]) -> None:
        """Skip the rows of a mask that are not bad."""
        self.skipped |= rows
        self.skipped[list(self.bad)] = False

    def good(self) -> npt.NDArray[np.bool_]:
        """Return the mask of the rows that are neither bad nor skipped."""
        good = ~self.skipped
        good[list(self.bad)] = False
        return good

    def place(self, row: int) -> str:
        """Return the place of a row, for messages."""
        if self.chunk.line is None:
            return f"{self.part.place}: row {self.chunk.number(row)}"
        return _place_of(self.part.place, int(self.chunk.line[row]), int(self.chunk.further[row]))

    def bad_rows(self) -> list[tuple[str, int]]:
        """Return the bad rows in order: a description, and the number of lines after the first."""
        chunk = self.chunk
        line = range(len(self)) if chunk.line is None else chunk.line.tolist()
        bad = [
            (
                line[row],
                f"{self.place(row)}: {reason}: {self._content(row)}",
                int(chunk.further[row]),
            )
            for row, reason in self.bad.items()
        ]
        for record in chunk.bad:
            place = _place_of(self.part.place, record.line, record.further)
            bad.append((record.line, f"{place}: {record.words()}", record.further))
        return [(description, further) for _, description, further in sorted(bad)]

    def check(self) -> None:
        """Raise a `DatasetError` for the first bad row."""
        if bad := self.bad_rows():
            raise DatasetError(bad[0][0])

    def _row(self, row: int) -> str:
        """Return the place of a row, without folders."""
        return self.place(row).rpartition("/")[2]

    def _content(self, row: int) -> str:
        """Return the cells of a row for messages."""
        cells = {role: str(self._columns[role][row].as_py() or "") for role in self._shown_roles}
        text = ", ".join(f"{role}={cell}" for role, cell in cells.items())
        text = next(iter(cells.values())) if len(cells) == 1 else text
        return repr(text[:_SHOWN_CHARACTERS]) + ("..." if len(text) > _SHOWN_CHARACTERS else "")


Transform = Callable[[Cells], Mapping[str, object]]
"""Maps the cells of a chunk to columns of all its rows, with event times as `ts`, and marks bad rows."""


def _place_of(place: str, line: int, further: int) -> str:
    return f"{place}:{line}-{line + further}" if further else f"{place}:{line}"


def object_of(line: str) -> dict[str, object]:
    """Return the JSON object of a line; raises `BadRowError` for other lines."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRowError(f"not JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadRowError(f"a JSON {type(value).__name__} instead of an object")
    return value


def text_of(fields: dict[str, object], field: str, *, may_be_empty: bool = False) -> str:
    """Return a field's text; raises `BadRowError` if it is no text, or if it is empty without `may_be_empty`."""
    text = fields.get(field)
    if not isinstance(text, str) or not (text or may_be_empty):
        shown = repr(text) if field in fields else "missing"
        raise BadRowError(f"field {field} is {shown}, not text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRowError(f"field {field} has half a surrogate pair, so it is not text") from error
    return text
