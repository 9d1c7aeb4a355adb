"""Finds CSV records in blocks of lines: their begins and ends, and lines that are not a record.

A cell is quoted if its first character is a quote. It ends at the next quote that is not doubled. Delimiters and line
ends before this quote are content. A delimiter or the line's end must follow the quote. Any other quote is a plain
character.

A record that breaks this rule is bad. It still extends to its own end, so that none of its lines is read as a record.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.text.decoding import LONGEST_LINE_BYTES

BLANKS = " "
"""This delimiter stands for any run of blanks and tabs."""

NO_QUOTES = "where quotes are plain characters, give --no-quotes (quoted=False)"
"""The remedy for rows that were lost because of a quote."""

Ints = npt.NDArray[np.int64]
_QUOTE, _LF, _CR = b'"\n\r'
_SHOWN_BYTES = 60
"""Maximum number of bytes of a record in a message."""
_EACH_RUN, _AT_ENDS = re.compile(rb"[ \t]+"), re.compile(rb"^ | (?=\r?$)", re.MULTILINE)
_BLANKS = re.compile(
    rb'(?<![^ \t\n])(?P<quoted>"(?:[^"]++|"")*+(?:"|\Z))'
    rb"|(?P<outer>^[ \t]+|[ \t]+(?=\r?$))|[ \t]+",
    re.MULTILINE,
)
"""Matches a quoted cell, which may end in the next block, or blanks at an end of a line, or other blanks."""


class BadRecord(NamedTuple):
    """Lines that are not a record.

    Attributes:
        row: number among all records of the text, from 1.
        line: number of the first line, from 1.
        further: number of lines after the first.
        reason: why the lines are not a record.
        start: the first bytes.
    """

    row: int
    line: int
    further: int
    reason: str
    start: bytes

    def words(self) -> str:
        """Return why the lines are not a record, and their beginning."""
        start = self.start[:_SHOWN_BYTES].decode("utf-8", errors="replace")
        return f"{self.reason}: {start!r}" if start else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Consecutive rows of a part.

    Attributes:
        batch: the chosen columns, in the requested order.
        number: maps a row's index in the batch to its number in messages.
        further: int64, the number of lines of each row after its first line.
        bad: texts that are not rows; the batch does not include them.
        line: int64, the number of the first line of each row; None if the part has no lines.
        empty_lines: number of empty lines outside rows.
        header_lines: number of lines of the header.
    """

    batch: "pa.RecordBatch"
    number: Callable[[int], int | str]
    further: Ints
    bad: Sequence[BadRecord] = ()
    line: Ints | None = None
    empty_lines: int = 0
    header_lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    r"""The records of consecutive lines.

    Attributes:
        data: the good records, each followed by `\n`, possibly with empty lines between them.
        row: int64, the number of each good record among all records of the text, from 1.
        line: int64, the number of each good record's first line, from 1.
        further: int64, the number of lines of each good record after its first line.
        bad: the bad records.
        empty_lines: number of empty lines outside records.
    """

    data: bytes
    row: Ints
    line: Ints
    further: Ints
    bad: tuple[BadRecord, ...] = ()
    empty_lines: int = 0

    @property
    def lines(self) -> int:
        """The number of all lines: good, bad and empty."""
        bad = sum(1 + record.further for record in self.bad)
        return len(self.row) + int(self.further.sum()) + bad + self.empty_lines

    def numbers(self, index: int) -> tuple[int, int, int]:
        """Return the number of a good record, the number of its first line, and the number of lines after that line."""
        return int(self.row[index]), int(self.line[index]), int(self.further[index])

    def without(self, reasons: Mapping[int, tuple[str, bytes]]) -> "Records":
        """Return the records with some good records turned into bad ones.

        `reasons` has, by index of such a record, the reason and the first bytes. `data` stays unchanged.
        """
        if not reasons:
            return self
        added = [BadRecord(*self.numbers(index), *reason) for index, reason in reasons.items()]
        good = np.delete(np.arange(len(self.row)), list(reasons))
        row, line, further = self.row[good], self.line[good], self.further[good]
        bad = tuple(sorted([*self.bad, *added]))
        return replace(self, row=row, line=line, further=further, bad=bad)


class RecordScanner:
    """Finds the records of a text.

    Args:
        place: the name of the text in messages.
        delimiter: one ASCII character; a blank stands for any run of blanks and tabs.
        quoted: whether cells may be quoted; else every line is a record.
    """

    def __init__(self, place: str, delimiter: str, *, quoted: bool) -> None:
        self._place, self._delimiter, self._quoted = place, delimiter, quoted
        sign = re.escape(delimiter.encode())
        quoted_cell, plain = rb'"(?:[^"]++|"")*+"', rb'[^"\n%b][^\n%b]*+|' % (sign, sign)
        strict = rb"(?:%b(?=%b|\r?\n)|%b)" % (quoted_cell, sign, plain)
        loose = rb"(?:%b[^\n%b]*+|%b)" % (quoted_cell, sign, plain)
        self._strict = re.compile(rb"%b(?:%b%b)*+\r?\n" % (strict, sign, strict))
        self._loose = re.compile(rb"%b(?:%b%b)*+\r?\n" % (loose, sign, loose))
        self._strict_start = re.compile(rb"(?:%b%b)*+" % (strict, sign))
        self._loose_start = re.compile(rb"(?:%b%b)*+" % (loose, sign))
        self._quoted_cell = re.compile(quoted_cell)
        self._cell = re.compile(rb"(%b)|([^%b]*+)" % (quoted_cell, sign))

    def cells(self, record: bytes) -> list[bytes]:
        """Return the cells of one good record."""
        record = record.removesuffix(b"\n").removesuffix(b"\r")
        if not self._quoted:
            return record.split(self._delimiter.encode())
        cells, begin = [], 0
        while True:
            cell = self._cell.match(record, begin)
            assert cell is not None, "the pattern also matches an empty cell"
            cells.append(cell[2] if cell[1] is None else cell[1][1:-1].replace(b'""', b'"'))
            begin = cell.end() + 1
            if begin > len(record):
                return cells

    def records(
        self,
        blocks: Iterable[bytes],
        row: int = 1,
        line: int = 1,
        read_past_end: Callable[[], bytes] = bytes,
    ) -> Iterator[Records]:
        """Yield the records of blocks of complete lines. Each line belongs to exactly one result.

        Args:
            blocks: the lines.
            row: number of the first record.
            line: number of the first line.
            read_past_end: returns lines after the blocks, in which their last record may end; empty at the end of the
                file. Reading stops when these lines end with a record.

        Raises:
            DatasetError: a quote is never closed, or not within `LONGEST_LINE_BYTES`.
        """
        remainder = b""

        def read_further() -> Iterator[bytes]:
            while remainder and (block := read_past_end()):
                yield block

        for block in chain(blocks, read_further()):
            data = remainder + block
            if self._delimiter == BLANKS:
                data = self._joined_blanks(data)
            records, used_bytes = self._scan(data, row, line)
            yield records
            remainder = data[used_bytes:]
            row += len(records.row) + len(records.bad)
            line += records.lines
            if len(remainder) > LONGEST_LINE_BYTES:
                raise self._not_closed(remainder, line, f"within {LONGEST_LINE_BYTES >> 20} MiB")
        if remainder:
            raise self._not_closed(remainder, line, "")

    def _joined_blanks(self, data: bytes) -> bytes:
        """Return lines with each run of blanks replaced by one, and without blanks at line ends."""
        if self._quoted and b'"' in data:
            return _BLANKS.sub(_shorten_blanks, data)
        return _AT_ENDS.sub(b"", _EACH_RUN.sub(b" ", data))

    def _scan(self, data: bytes, row: int, line: int) -> tuple[Records, int]:
        """Return the records of complete lines, and the number of bytes used; the rest is an incomplete record."""
        quotes = self._quoted and b'"' in data
        text = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(text == _LF)
        begins = np.concatenate([[0], ends[:-1] + 1])
        lengths = ends - begins
        is_irregular = lengths >= LONGEST_LINE_BYTES
        if quotes:
            marks = np.flatnonzero(text == _QUOTE)
            if not _all_enclose(text, marks, ends, ord(self._delimiter)):
                is_irregular |= _irregular_lines(text, marks, len(ends), ord(self._delimiter))
        empty = (lengths == 0) | ((lengths == 1) & (text[begins] == _CR))
        first, further = ~empty, np.zeros(len(ends), np.int64)
        wrong: dict[int, str] = {}
        used_bytes, next_line = len(data), 0
        for index in np.flatnonzero(is_irregular).tolist():
            if index < next_line:
                continue
            begin = int(begins[index])
            end, reason = self._record(data, begin, line) if quotes else (int(ends[index]) + 1, "")
            if end is None:
                used_bytes, first[index:], empty[index:] = begin, False, False
                break
            last = int(np.searchsorted(ends, end - 1))
            if end - begin > LONGEST_LINE_BYTES:
                reason = f"longer than {LONGEST_LINE_BYTES >> 20} MiB"
            first[index + 1 : last + 1] = empty[index + 1 : last + 1] = False
            further[index] = last - index
            if reason:
                wrong[index] = reason
            next_line = last + 1
        rows = row - 1 + np.cumsum(first)
        good_parts: list[bytes] = []
        bad, good_begin = [], 0
        for index, reason in wrong.items():
            begin, end = int(begins[index]), int(ends[index + further[index]]) + 1
            start = data[begin : min(end - 1, begin + _SHOWN_BYTES)]
            bad.append(
                BadRecord(int(rows[index]), line + index, int(further[index]), reason, start)
            )
            first[index] = False
            good_parts.append(data[good_begin:begin])
            good_begin = end
        good = np.flatnonzero(first)
        is_complete = not good_parts and used_bytes == len(data)
        return Records(
            data=data if is_complete else b"".join([*good_parts, data[good_begin:used_bytes]]),
            row=rows[good],
            line=line + good,
            further=further[good],
            bad=tuple(bad),
            empty_lines=int(np.count_nonzero(empty)),
        ), used_bytes

    def _record(self, data: bytes, begin: int, line: int) -> tuple[int | None, str]:
        """Return the end of a record (None if the data has none), and why it is bad (empty if it is good)."""
        if strict := self._strict.match(data, begin):
            return strict.end(), ""
        loose = self._loose.match(data, begin)
        if loose is None:
            return None, ""
        start = self._strict_start.match(data, begin)
        assert start is not None, "the pattern also matches an empty text"
        cell = self._quoted_cell.match(data, start.end())
        assert cell is not None, "only a quoted cell can break the strict rule"
        opened, closed = (
            line + data.count(b"\n", 0, position) for position in (cell.start(), cell.end())
        )
        after = data[cell.end() : cell.end() + _SHOWN_BYTES].partition(b"\n")[0]
        shown = after.decode("utf-8", errors="replace")
        return loose.end(), (
            f"the quote opened in line {opened} is closed in line {closed} before {shown!r}"
        )

    def _not_closed(self, remainder: bytes, line: int, where: str) -> DatasetError:
        start = self._loose_start.match(remainder)
        assert start is not None, "the pattern also matches an empty text"
        opened = line + remainder.count(b"\n", 0, start.end())
        shown = remainder[start.end() : start.end() + _SHOWN_BYTES].partition(b"\n")[0]
        never = f"not closed {where}" if where else "never closed"
        return DatasetError(
            f"{self._place}: the quote opened in line {opened} is {never} "
            f"({shown.decode('utf-8', errors='replace')!r}); close it, or, {NO_QUOTES}"
        )


def _shorten_blanks(blanks: re.Match[bytes]) -> bytes:
    """Return the replacement for a match of `_BLANKS`."""
    if blanks["quoted"] is not None:
        return blanks[0]
    return b"" if blanks["outer"] is not None else b" "


def _all_enclose(text: npt.NDArray[np.uint8], quotes: Ints, ends: Ints, delimiter: int) -> bool:
    """Return whether all quotes enclose a cell within a line, or are doubled in such a cell.

    Args:
        text: complete lines.
        quotes: positions of the quotes.
        ends: positions of the line ends.
        delimiter: the separator of cells.
    """
    if len(quotes) % 2 or np.any(np.searchsorted(quotes, ends) % 2):
        return False
    signs, closing = [delimiter, _LF, _QUOTE], quotes[1::2]
    # For a quote at position 0, index -1 is the last byte, an LF.
    before, after = text[quotes[::2] - 1], text[closing + 1]
    is_at_end = (after == _CR) & (text.take(closing + 2, mode="clip") == _LF)
    return bool(np.isin(before, signs).all() and (np.isin(after, signs) | is_at_end).all())


def _irregular_lines(
    text: npt.NDArray[np.uint8], quotes: Ints, count: int, delimiter: int
) -> npt.NDArray[np.bool_]:
    """Return the mask of the lines that would not be a complete record if a record began at their start.

    A line is complete if no quote begins a cell, or if all quotes enclose a cell or are doubled in one.

    Args:
        text: complete lines.
        quotes: positions of the quotes.
        count: number of lines.
        delimiter: the separator of cells.
    """
    lines = np.cumsum(text == _LF, dtype=np.int32)[quotes]
    is_first = np.diff(lines, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    counts = np.diff(starts, append=len(quotes))
    opens = (np.arange(len(quotes)) - np.repeat(starts, counts)) % 2 == 0
    before, after = text[quotes - 1], text[quotes + 1]
    second = text.take(quotes + 2, mode="clip")
    begins = (before == delimiter) | (before == _LF)
    closes = (after == delimiter) | (after == _LF) | ((after == _CR) & (second == _LF))
    good = np.where(opens, begins | ((before == _QUOTE) & ~is_first), closes | (after == _QUOTE))
    is_irregular = np.zeros(count, np.bool_)
    is_complete = np.logical_and.reduceat(good, starts) & (counts % 2 == 0)
    is_irregular[lines[starts]] = ~is_complete & np.logical_or.reduceat(begins, starts)
    return is_irregular
