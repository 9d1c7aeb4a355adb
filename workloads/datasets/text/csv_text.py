"""Reads chosen columns of all records of a CSV text, with the line numbers of each record."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from streamlab.workloads.datasets import pa, pa_csv
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.raw_files import RawText, convert_read_errors
from streamlab.workloads.datasets.text.decoding import NO_UTF8, text_blocks
from streamlab.workloads.datasets.text.records import Chunk, Records, RecordScanner

TAB = r"\t"
"""The notation for a tab as delimiter."""

LINE = "line"
"""The name of the only column of texts with one cell per line."""

_HEAD_BYTES = 1 << 20
"""A zero byte among this many first bytes shows UTF-16 text without a mark."""

_DELIMITER = re.compile(r'(?!["\r\n\0])[\x00-\x7f]')
_EMPTY_LINES = re.compile(rb"\A(?:\r?\n)+")

_Cells = tuple[list["pa.Array"], list[tuple[int, int, bytes]]]
"""The chosen columns of the good records; and the index, number of columns and text of each other record."""


def parse_delimiter(delimiter: object, where: str) -> str:
    r"""Return a delimiter, with `\t` replaced by a tab.

    Raises:
        DatasetError: it is not one character that can separate cells.
    """
    if delimiter == TAB:
        return "\t"
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not _DELIMITER.fullmatch(delimiter):
        raise DatasetError(f"{where} is {delimiter!r}; give one character, such as ';'")
    return delimiter


def row_words(row: int, line: int, further: int) -> str:
    """Return the number of a record for messages, with its line numbers if they are different."""
    if further:
        return f"{row} (lines {line} to {line + further})"
    return f"{row}" if row == line else f"{row} (line {line})"


class CsvText:
    """One CSV text, read once.

    Args:
        part: the text.
        delimiter: the separator of cells; a blank stands for any run of blanks and tabs.
        quoted: whether cells may be quoted (see `records`).
        header: whether the first record names the columns; else their names are 1, 2, ...
        layout: fixed names of the columns. A first record with these names, in any case, is a header.
    """

    def __init__(
        self,
        part: RawText,
        delimiter: str,
        *,
        quoted: bool,
        header: bool = False,
        layout: tuple[str, ...] = (),
    ) -> None:
        self._part, self._delimiter = part, delimiter
        self._quoted, self._header, self._layout = quoted, header, layout
        self._scanner = RecordScanner(part.place, delimiter, quoted=quoted)
        self._records = self._scanner.records(
            self._blocks(), part.row, part.line, part.read_past_end
        )
        self._first: list[Records] = []
        self._header_lines, self._line = 0, part.line - 1

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns; call it once, before `rows`.

        Raises:
            DatasetError: the text is empty, has bytes 0, or begins like JSON.
        """
        place = self._part.place
        with convert_read_errors(place, lambda: "line 0"):
            for records in self._records:
                self._first.append(records)
                bad_first = [bad for bad in records.bad if bad.row == 1]
                if self._header and bad_first:
                    raise DatasetError(f"{place}: the first row is not CSV ({bad_first[0].reason})")
                if len(records.row):
                    return self._names(records)
        if self._layout:
            return self._layout
        for records in self._first:
            for bad in records.bad:
                raise DatasetError(f"{place}: no row is CSV ({bad.reason})")
        raise DatasetError(f"{place} is empty; there is nothing to import")

    def _blocks(self) -> Iterator[bytes]:
        """Yield the lines, after checking that the first block is neither JSON nor UTF-16."""
        place = self._part.place
        continues = self._part.line > 1  # whether this is not the first split of its file
        for number, block in enumerate(text_blocks(self._part.file, place, continues=continues)):
            if number == 0 and not continues:
                head = block[:_HEAD_BYTES]
                if b"\0" in head:
                    line = head[: head.index(b"\0")].count(b"\n") + 1
                    raise DatasetError(f"{place}: line {line} holds a byte 0{NO_UTF8}")
                _refuse_json(place, block.lstrip().partition(b"\n")[0].rstrip())
            yield block

    def _names(self, records: Records) -> tuple[str, ...]:
        """Return the column names. If the first good record is a header, remove it from the records."""
        data = _EMPTY_LINES.sub(b"", records.data, count=1)
        end = 0
        for _ in range(int(records.further[0]) + 1):
            end = data.index(b"\n", end) + 1
        cells = self._scanner.cells(data[:end])
        names = tuple(cell.decode("utf-8", errors="replace").strip() for cell in cells)
        folded, layout = ([name.lower() for name in each] for each in (names, self._layout))
        if self._header or folded == layout:
            self._header_lines = 1 + int(records.further[0])
            self._first[-1] = replace(
                records,
                data=data[end:],
                row=records.row[1:],
                line=records.line[1:],
                further=records.further[1:],
            )
        if self._layout or self._header:
            return self._layout or names
        return tuple(str(number) for number in range(1, len(cells) + 1))

    def rows(self, columns: Sequence[str], chosen: Sequence[int]) -> Iterator[Chunk]:
        """Yield the chosen columns of all records after the header; records with another number of cells are bad.

        Raises:
            DatasetError: a quote is never closed, or the file is damaged.
        """
        header_lines = self._header_lines
        with convert_read_errors(self._part.place, lambda: f"line {self._line}"):
            for records in chain(self._first, self._records):
                self._line += records.lines + header_lines
                parsed = self._parse_records(records, len(columns), chosen)
                yield replace(parsed, header_lines=header_lines)
                header_lines = 0

    def _parse_records(self, records: Records, columns: int, chosen: Sequence[int]) -> Chunk:
        """Return the chosen columns of records; records with another number of cells, or not in UTF-8, are bad."""
        data = records.data
        has_lone_return = b"\r" in data and data.count(b"\r") > data.count(b"\r\n")
        # Arrow would end a record at a single return, and refuses rows that are not UTF-8.
        parse = self._parse_slowly if has_lone_return or not _is_utf8(data) else self._parse
        cells, ragged = parse(records, columns, chosen)
        good = records.without(
            {
                index: (f"{count} columns instead of {columns}", start)
                for index, count, start in ragged
            }
        )
        assert all(len(column) == len(good.row) for column in cells), "both find the same records"
        return _chunk(cells, good)

    def _parse_slowly(self, records: Records, columns: int, chosen: Sequence[int]) -> _Cells:
        """Parse records one by one, with the result of `_parse`."""
        rows: list[list[bytes]] = []
        ragged: list[tuple[int, int, bytes]] = []
        lines = iter(records.data.split(b"\n"))
        for index, further in enumerate(records.further.tolist()):
            first = next(line for line in lines if line not in (b"", b"\r"))
            record = b"\n".join([first, *islice(lines, further)])
            cells = self._scanner.cells(record)
            if len(cells) == columns:
                rows.append(cells)
            else:
                ragged.append((index, len(cells), record.removesuffix(b"\r")))
        columns_of_rows = ([cells[index] for cells in rows] for index in chosen)
        return [pa.array(column, pa.binary()) for column in columns_of_rows], ragged

    def _parse(self, records: Records, columns: int, chosen: Sequence[int]) -> _Cells:
        """Parse records with Arrow."""
        ragged: list[tuple[int, int, bytes]] = []

        def skip(row: "pa_csv.InvalidRow") -> str:
            ragged.append((row.number - 1, row.actual_columns, row.text.encode()))
            return "skip"

        names = [str(number) for number in range(columns)]
        table = pa_csv.read_csv(
            pa.BufferReader(records.data or b"\n"),
            read_options=pa_csv.ReadOptions(
                use_threads=False, block_size=len(records.data) + 2, column_names=names
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char='"' if self._quoted else False,
                newlines_in_values=self._quoted,
                invalid_row_handler=skip,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.binary()),
                include_columns=[names[index] for index in sorted(set(chosen))],
            ),
        )
        empty = pa.nulls(0, pa.binary())
        columns_of_chunks = (table[str(index)].chunks for index in chosen)
        return [pa.concat_arrays(chunks or [empty]) for chunks in columns_of_chunks], ragged


class LineText:
    """One text whose lines are rows of one cell, read once.

    Args:
        part: the text.
        fallback: the encoding of lines that are not UTF-8. If empty, such lines are bad.
    """

    def __init__(self, part: RawText, *, fallback: str = "") -> None:
        self._part, self._fallback = part, fallback

    def names(self) -> tuple[str, ...]:
        """Return the name of the only column."""
        return (LINE,)

    def rows(self, columns: Sequence[str], chosen: Sequence[int]) -> Iterator[Chunk]:
        """Yield all lines as rows.

        Raises:
            DatasetError: the file is damaged.
        """
        part, place, line = self._part, self._part.place, self._part.line - 1
        scanner = RecordScanner(place, ",", quoted=False)
        with convert_read_errors(place, lambda: f"line {line}"):
            blocks = text_blocks(part.file, place, continues=part.line > 1)
            for records in scanner.records(blocks, part.row, part.line):
                line += records.lines
                cells = [self._utf8(text) for text in record_lines(records)]
                yield _chunk([pa.array(cells, pa.binary())] * len(chosen), records)

    def _utf8(self, line: bytes) -> bytes:
        """Return a line as UTF-8, using the fallback encoding if needed; unchanged if neither encoding fits."""
        if not self._fallback or line.isascii():
            return line
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            with suppress(UnicodeDecodeError):
                return line.decode(self._fallback).encode()
        return line


def _chunk(cells: "list[pa.Array]", rows: Records) -> Chunk:
    """Return records and their cells as a chunk. A record with a cell that is not UTF-8 becomes bad."""
    texts, wrong = [], np.zeros(len(rows.row), np.bool_)
    for column in cells:
        try:
            texts.append(column.cast(pa.string()))
        except pa.ArrowInvalid:
            decoded = [_decode(cell) for cell in column.to_pylist()]
            wrong |= np.array([text is None for text in decoded], np.bool_)
            texts.append(pa.array(decoded, pa.string()))
    if wrong.any():
        texts = [column.filter(pa.array(~wrong)) for column in texts]
        not_utf8 = dict.fromkeys(np.flatnonzero(wrong).tolist(), ("it is not UTF-8", b""))
        rows = rows.without(not_utf8)
    return chunk_of(texts, rows)


def record_lines(records: Records) -> Iterator[bytes]:
    """Yield the text of each record. Every record must be a single line."""
    texts = (raw.removesuffix(b"\r") for raw in records.data.split(b"\n"))
    return (text for text in texts if text)


def chunk_of(columns: "Sequence[pa.Array]", rows: Records) -> Chunk:
    """Return the good records with their columns as a chunk."""
    return Chunk(
        batch=pa.RecordBatch.from_arrays(list(columns), list(map(str, range(len(columns))))),
        number=lambda index: row_words(*rows.numbers(index)),
        bad=rows.bad,
        line=rows.line,
        further=rows.further,
        empty_lines=rows.empty_lines,
    )


def _decode(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or data.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def _refuse_json(place: str, line: bytes) -> None:
    """Raise a `DatasetError` if the first line is JSON, which CSV parsers would accept."""
    if not line.startswith((b"{", b"[")):
        return
    file_format = "JSON"
    try:
        if isinstance(json.loads(line), dict):
            file_format = "JSON lines"
    except (ValueError, RecursionError):
        if line not in (b"{", b"[", b"[{"):
            return
    raise DatasetError(
        f"{place}: line 1 is {line[:40].decode('utf-8', errors='replace')!r}, so this is {file_format}, "
        "not CSV; convert it to Parquet or CSV; tables also read JSON lines (--format jsonl, "
        "lab.jsonl)"
    )
