"""Finds CSV records in blocks of lines: where they begin and end, and which lines are no record.

A cell is quoted where a quote is its first character. It ends at the next quote that is not
doubled, and a delimiter or the line's end must follow; until then, delimiters and line ends are
content. Any other quote is a plain character. A record that breaks this rule is bad: it has all
lines up to its own end, so that none of them is read as a record.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.text.decoding import LONGEST_LINE_BYTES

BLANKS = " "
"""As a delimiter: any run of blanks and tabs."""

NO_QUOTES = "where quotes are plain characters, give --no-quotes (quoted=False)"
"""The remedy for rows that are lost to a quote."""

_QUOTE, _LF, _CR = b'"\n\r'
_SHOWN_BYTES = 60
_EACH_RUN, _AT_ENDS = re.compile(rb"[ \t]+"), re.compile(rb"^ | (?=\r?$)", re.MULTILINE)
_BLANKS = re.compile(
    rb'(?<![^ \t\n])(?P<quoted>"(?:[^"]++|"")*+(?:"|\Z))'
    rb"|(?P<outer>^[ \t]+|[ \t]+(?=\r?$))|[ \t]+",
    re.MULTILINE,
)
"""A quoted cell, which may end in the next block; blanks at an end of a line; others."""


class BadRecord(NamedTuple):
    """Lines that are no record.

    Attributes:
        row: its number among all records of the text, from 1.
        line: its first line, from 1.
        further: how many lines it has after that.
        reason: why it is no record.
        start: its first bytes.
    """

    row: int
    line: int
    further: int
    reason: str
    start: bytes

    def words(self) -> str:
        """Return why it is no record, and its beginning."""
        start = self.start[:_SHOWN_BYTES].decode("utf-8", errors="replace")
        return f"{self.reason}: {start!r}" if start else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    r"""Records of some lines.

    Attributes:
        data: the good records, each followed by `\n`; empty lines may lie between them.
        row: int64, the number of each good record among all of the text, from 1.
        line: int64, the first line of each, from 1.
        further: int64, how many lines each has after that.
        bad: the bad records.
        empty_lines: number of empty lines outside records.
    """

    data: bytes
    row: npt.NDArray[np.int64]
    line: npt.NDArray[np.int64]
    further: npt.NDArray[np.int64]
    bad: tuple[BadRecord, ...] = ()
    empty_lines: int = 0

    @property
    def lines(self) -> int:
        """The number of all lines, good, bad and empty."""
        bad = sum(1 + record.further for record in self.bad)
        return len(self.row) + int(self.further.sum()) + bad + self.empty_lines


class RecordScanner:
    """Finds the records of a text.

    Args:
        place: the name of the text in messages.
        delimiter: one ASCII character; a blank is any run of blanks and tabs.
        quoted: whether cells may be quoted; else every line is a record.
    """

    def __init__(self, place: str, delimiter: str, *, quoted: bool) -> None:
        self._place, self._delimiter, self._quoted = place, delimiter, quoted
        of = re.escape(delimiter.encode())
        quoted_cell, plain = rb'"(?:[^"]++|"")*+"', rb'[^"\n%b][^\n%b]*+|' % (of, of)
        strict = rb"(?:%b(?=%b|\r?\n)|%b)" % (quoted_cell, of, plain)
        loose = rb"(?:%b[^\n%b]*+|%b)" % (quoted_cell, of, plain)
        self._strict = re.compile(rb"%b(?:%b%b)*+\r?\n" % (strict, of, strict))
        self._loose = re.compile(rb"%b(?:%b%b)*+\r?\n" % (loose, of, loose))
        self._strict_start = re.compile(rb"(?:%b%b)*+" % (strict, of))
        self._loose_start = re.compile(rb"(?:%b%b)*+" % (loose, of))
        self._quoted_cell = re.compile(quoted_cell)
        self._cell = re.compile(rb"(%b)|([^%b]*+)" % (quoted_cell, of))

    def cells(self, record: bytes) -> list[bytes]:
        """Return the cells of one good record."""
        record = record.removesuffix(b"\n").removesuffix(b"\r")
        if not self._quoted:
            return record.split(self._delimiter.encode())
        cells, at = [], 0
        while True:
            found = self._cell.match(record, at)
            assert found is not None, "it also matches an empty cell"
            cells.append(found[2] if found[1] is None else found[1][1:-1].replace(b'""', b'"'))
            at = found.end() + 1
            if at > len(record):
                return cells

    def records(self, blocks: Iterable[bytes]) -> Iterator[Records]:
        """Yield the records of blocks of whole lines; each line is in exactly one of them.

        Raises:
            DatasetError: a quote is never closed, or not within `LONGEST_LINE_BYTES`.
        """
        row, line, rest = 1, 1, b""
        for block in blocks:
            data = rest + block
            if self._delimiter == BLANKS:
                data = self._joined_blanks(data)
            found, used = self._scan(data, row, line)
            yield found
            rest = data[used:]
            row += len(found.row) + len(found.bad)
            line += found.lines
            if len(rest) > LONGEST_LINE_BYTES:
                raise self._not_closed(rest, line, f"within {LONGEST_LINE_BYTES >> 20} MiB")
        if rest:
            raise self._not_closed(rest, line, "")

    def _joined_blanks(self, data: bytes) -> bytes:
        """Return lines with one blank for each run of blanks, and no blanks at their ends."""
        if self._quoted and b'"' in data:
            return _BLANKS.sub(_joined, data)
        return _AT_ENDS.sub(b"", _EACH_RUN.sub(b" ", data))

    def _scan(self, data: bytes, row: int, line: int) -> tuple[Records, int]:
        """Return the records of whole lines, and how many bytes they take; the rest lacks an end.

        Args:
            data: begins at a record.
            row: number of the first record.
            line: number of the first line.
        """
        quotes = self._quoted and b'"' in data
        text = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(text == _LF)
        begins = np.concatenate([[0], ends[:-1] + 1])
        lengths = ends - begins
        shortest = 2 if b"\r" in data else 1
        plain = shortest <= lengths.min() and lengths.max() < LONGEST_LINE_BYTES
        if plain and not (quotes and _has_odd_quotes(text, ends, ord(self._delimiter))):
            count = len(ends)
            return Records(
                data=data,
                row=np.arange(row, row + count),
                line=np.arange(line, line + count),
                further=np.zeros(count, np.int64),
            ), len(data)
        empty = (lengths == 0) | ((lengths == 1) & (text[begins] == _CR))
        odd = lengths >= LONGEST_LINE_BYTES
        if quotes:
            odd |= _odd_lines(text, ends, ord(self._delimiter))
        first, further = ~empty, np.zeros(len(ends), np.int64)
        wrong: dict[int, str] = {}
        used, next_line = len(data), 0
        for index in np.flatnonzero(odd).tolist():
            if index < next_line:
                continue
            begin = int(begins[index])
            end, reason = self._record(data, begin, line) if quotes else (int(ends[index]) + 1, "")
            if end is None:
                used, first[index:], empty[index:] = begin, False, False
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
        kept: list[bytes] = []
        bad, at = [], 0
        for index, reason in wrong.items():
            begin, end = int(begins[index]), int(ends[index + further[index]]) + 1
            start = data[begin : min(end - 1, begin + _SHOWN_BYTES)]
            bad.append(
                BadRecord(int(rows[index]), line + index, int(further[index]), reason, start)
            )
            first[index] = False
            kept.append(data[at:begin])
            at = end
        good = np.flatnonzero(first)
        return Records(
            data=b"".join([*kept, data[at:used]]) if kept or used < len(data) else data,
            row=rows[good],
            line=line + good,
            further=further[good],
            bad=tuple(bad),
            empty_lines=int(np.count_nonzero(empty)),
        ), used

    def _record(self, data: bytes, begin: int, line: int) -> tuple[int | None, str]:
        """Return where a record ends (None: not in the data), and why it is bad ("": it is not).

        Args:
            data: whole lines.
            begin: where the record begins.
            line: number of the first line of the data.
        """
        if found := self._strict.match(data, begin):
            return found.end(), ""
        found = self._loose.match(data, begin)
        if found is None:
            return None, ""
        start = self._strict_start.match(data, begin)
        assert start is not None, "it also matches an empty text"
        cell = self._quoted_cell.match(data, start.end())
        assert cell is not None, "what is not strict is a quoted cell"
        opened, closed = (line + data.count(b"\n", 0, at) for at in (cell.start(), cell.end()))
        after = data[cell.end() : cell.end() + _SHOWN_BYTES].partition(b"\n")[0]
        shown = after.decode("utf-8", errors="replace")
        return found.end(), (
            f"the quote opened in line {opened} is closed in line {closed} before {shown!r}"
        )

    def _not_closed(self, rest: bytes, line: int, where: str) -> DatasetError:
        start = self._loose_start.match(rest)
        assert start is not None, "it also matches an empty text"
        opened = line + rest.count(b"\n", 0, start.end())
        shown = rest[start.end() : start.end() + _SHOWN_BYTES].partition(b"\n")[0]
        never = f"not closed {where}" if where else "never closed"
        return DatasetError(
            f"{self._place}: the quote opened in line {opened} is {never} "
            f"({shown.decode('utf-8', errors='replace')!r}); close it, or, {NO_QUOTES}"
        )


def _joined(found: re.Match[bytes]) -> bytes:
    if found["quoted"] is not None:
        return found[0]
    return b"" if found["outer"] is not None else b" "


def _has_odd_quotes(
    text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], delimiter: int
) -> bool:
    """Return whether some quotes neither enclose a cell on one line nor are doubled in one."""
    at = np.flatnonzero(text == _QUOTE)
    if len(at) % 2:
        return True
    before, after, second = _around(text, at[::2] - 1, at[1::2] + 1)
    if not np.all((before == delimiter) | (before == _LF) | (before == _QUOTE)):
        return True
    closed = (after == delimiter) | (after == _LF) | (after == _QUOTE)
    if not np.all(closed | ((after == _CR) & (second == _LF))):
        return True
    return bool(np.any(np.searchsorted(at, ends) % 2))


def _odd_lines(
    text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], delimiter: int
) -> npt.NDArray[np.bool_]:
    """Return which lines are not whole records, judged line by line.

    Each line is judged as if it began a record. It is whole if no quote begins a cell, or if all
    quotes enclose a cell or are doubled in one.
    """
    at = np.flatnonzero(text == _QUOTE)
    of = np.searchsorted(ends, at)
    new = np.diff(of, prepend=-1) != 0
    starts = np.flatnonzero(new)
    counts = np.diff(starts, append=len(at))
    opens = (np.arange(len(at)) - np.repeat(starts, counts)) % 2 == 0
    before, after, second = _around(text, at - 1, at + 1)
    begins = (before == delimiter) | (before == _LF)
    closes = (after == delimiter) | (after == _LF) | ((after == _CR) & (second == _LF))
    good = np.where(opens, begins | ((before == _QUOTE) & ~new), closes | (after == _QUOTE))
    odd = np.zeros(len(ends), np.bool_)
    whole = np.logical_and.reduceat(good, starts) & (counts % 2 == 0)
    odd[of[starts]] = ~whole & np.logical_or.reduceat(begins, starts)
    return odd


def _around(
    text: npt.NDArray[np.uint8], before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the bytes at places before some quotes, those at places after some, and the next."""
    first = text[np.maximum(before, 0)]
    first[before < 0] = _LF
    return first, text[after], text[np.minimum(after + 1, len(text) - 1)]
