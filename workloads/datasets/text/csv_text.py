"""Reads CSV: chosen columns of all records of a text, with the lines of each record."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.raw import Part, readable
from workloads.datasets.text.decoding import NO_UTF8, text_blocks
from workloads.datasets.text.records import BadRecord, Records, RecordScanner

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.csv import InvalidRow

TAB = r"\t"
"""How a tab may be written as a delimiter."""

_HEAD_BYTES = 1 << 20
"""A text in another encoding without a mark has a byte 0 among these."""

_DELIMITER = re.compile(r'(?!["\r\n\0])[\x00-\x7f]')
_EMPTY_LINES = re.compile(rb"\A(?:\r?\n)+")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_STAND_INS = bytes({*range(1, 32)} - {*b"\t\n\r"})
"""Control characters; one that a block lacks replaces the single returns in it."""


def checked_delimiter(delimiter: object, where: str) -> str:
    r"""Return a delimiter, `\t` as a tab.

    Args:
        delimiter: the delimiter to check.
        where: its name in messages.

    Raises:
        DatasetError: it is not one character that can separate cells.
    """
    if delimiter == TAB:
        return "\t"
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not _DELIMITER.fullmatch(delimiter):
        raise DatasetError(f"{where} is {delimiter!r}; give one character, such as ';'")
    return delimiter


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRows:
    """Records of a text, in order.

    Attributes:
        columns: the chosen cells of the good records, as Arrow arrays of bytes.
        row: int64, the number of each good record in the text, from 1, with the header.
        line: int64, the first line of each, from 1.
        further: int64, how many lines each has after that, which a quoted cell holds.
        bad: lines that are no record, in order.
        empty_lines: empty lines outside records.
    """

    columns: "list[pa.Array]"
    row: npt.NDArray[np.int64]
    line: npt.NDArray[np.int64]
    further: npt.NDArray[np.int64]
    bad: tuple[BadRecord, ...]
    empty_lines: int


def row_words(row: int, line: int, further: int) -> str:
    """Return the number of a record for messages, with its lines where these differ."""
    if further:
        return f"{row} (lines {line} to {line + further})"
    return f"{row}" if row == line else f"{row} (line {line})"


class CsvText:
    """One CSV text, read once.

    Args:
        part: the text.
        delimiter: between cells; a blank is any run of blanks and tabs.
        quoted: whether cells may be quoted, see `records`.
        header: whether the first record names the columns; else they are called 1, 2, ...
    """

    def __init__(self, part: Part, delimiter: str, *, quoted: bool, header: bool) -> None:
        self._part, self._delimiter = part, delimiter
        self._quoted, self._header = quoted, header
        self._scanner = RecordScanner(part.place, delimiter, quoted=quoted)
        self._records = self._scanner.records(self._blocks())
        self._first: list[Records] = []
        self._row = 0

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns; called once, before `rows`.

        Raises:
            DatasetError: the text is empty, holds bytes 0, or begins as JSON does.
        """
        place = self._part.place
        with readable(place, lambda: "its beginning"):
            for found in self._records:
                self._first.append(found)
                before = [bad for bad in found.bad if bad.row == 1]
                if self._header and before:
                    raise DatasetError(f"{place}: the first row is not CSV ({before[0].reason})")
                if len(found.row):
                    return self._names(found)
        for found in self._first:
            for bad in found.bad:
                raise DatasetError(f"{place}: no row is CSV ({bad.reason})")
        raise DatasetError(f"{place} is empty; there is nothing to import")

    def _blocks(self) -> Iterator[bytes]:
        """Yield the lines, after a check that the first block is neither JSON nor UTF-16."""
        place = self._part.place
        for number, block in enumerate(text_blocks(self._part.file, place)):
            if number == 0:
                head = block[:_HEAD_BYTES]
                if b"\0" in head:
                    line = head[: head.index(b"\0")].count(b"\n") + 1
                    raise DatasetError(f"{place}: line {line} holds a byte 0{NO_UTF8}")
                _refuse_json(place, block.lstrip().partition(b"\n")[0].rstrip())
            yield block

    def _names(self, found: Records) -> tuple[str, ...]:
        """Return the cells of the first good record, and take it from the records if a header."""
        data = _EMPTY_LINES.sub(b"", found.data, count=1)
        end = 0
        for _ in range(int(found.further[0]) + 1):
            end = data.index(b"\n", end) + 1
        cells = self._scanner.cells(data[:end])
        if not self._header:
            return tuple(str(number) for number in range(1, len(cells) + 1))
        self._first[-1] = replace(
            found,
            data=data[end:],
            row=found.row[1:],
            line=found.line[1:],
            further=found.further[1:],
        )
        return tuple(cell.decode("utf-8", errors="replace").strip() for cell in cells)

    def rows(self, columns: int, chosen: Sequence[int]) -> Iterator[CsvRows]:
        """Yield all records after the header.

        Args:
            columns: how many cells a record has; one with more or fewer is bad.
            chosen: indices of the requested columns.

        Raises:
            DatasetError: a quote is never closed, or the file is damaged.
        """
        with readable(self._part.place, lambda: f"row {self._row}"):
            for found in chain(self._first, self._records):
                yield self._parsed(found, columns, chosen)

    def _parsed(self, found: Records, columns: int, chosen: Sequence[int]) -> CsvRows:
        import pyarrow as pa
        from pyarrow import csv

        skipped: list[int] = []
        ragged: list[BadRecord] = []

        def skip(row: "InvalidRow") -> str:
            index = row.number - 1
            skipped.append(index)
            reason = f"{row.actual_columns} columns instead of {columns}"
            number, line, further = (
                int(each[index]) for each in (found.row, found.line, found.further)
            )
            ragged.append(BadRecord(number, line, further, reason, row.text.encode()))
            return "skip"

        data, stand_in = found.data, b""
        if b"\r" in data and data.count(b"\r") > data.count(b"\r\n"):
            data, stand_in = _without_returns(data)
        inner = [str(number) for number in range(columns)]
        wanted = sorted(set(chosen))
        table = csv.read_csv(
            pa.BufferReader(data or b"\n"),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(data) + 2, column_names=inner
            ),
            parse_options=csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char='"' if self._quoted else False,
                newlines_in_values=self._quoted,
                invalid_row_handler=skip,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(inner, pa.binary()),
                include_columns=[inner[index] for index in wanted],
            ),
        )
        good = np.delete(np.arange(len(found.row)), skipped) if skipped else slice(None)
        row = found.row[good]
        assert table.num_rows == len(row), "Arrow sees the records that the scanner sees"
        bad = tuple(sorted((*found.bad, *ragged)))
        self._row += len(row) + len(bad)
        return CsvRows(
            columns=[_column(table, inner[index], stand_in) for index in chosen],
            row=row,
            line=found.line[good],
            further=found.further[good],
            bad=bad,
            empty_lines=found.empty_lines,
        )


def _without_returns(data: bytes) -> tuple[bytes, bytes]:
    """Return data in which a control character stands for each single return, and which one.

    Arrow ends a record at single returns, the scanner does not.
    """
    stand_in = next((bytes([code]) for code in _STAND_INS if code not in data), None)
    if stand_in is None:
        raise DatasetError("single carriage returns among all control characters are no text")
    return _LONE_RETURN.sub(stand_in, data), stand_in


def _column(table: "pa.Table", name: str, stand_in: bytes) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.binary())
    return pc.replace_substring(column, stand_in, b"\r") if stand_in else column


def _refuse_json(place: str, line: bytes) -> None:
    """Refuse JSON lines and JSON documents, which look like odd CSV.

    Raises:
        DatasetError: the first line is JSON.
    """
    if not line.startswith((b"{", b"[")):
        return
    form = "JSON"
    try:
        if isinstance(json.loads(line), dict):
            form = "JSON lines"
    except (ValueError, RecursionError):
        if line not in (b"{", b"[", b"[{"):
            return
    raise DatasetError(
        f"{place}: line 1 is {line[:40].decode('utf-8', errors='replace')!r}, so this is {form}, "
        "not CSV; write it as Parquet or CSV first, for instance with "
        "polars.read_ndjson(FILE).write_parquet(...)"
    )
