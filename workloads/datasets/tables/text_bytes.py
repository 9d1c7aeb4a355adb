"""The bytes of a CSV text, as Arrow reads them, once its beginning has been looked at."""

import csv
import io
import re

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.raw import Part

BLANKS = " "
"""As a delimiter: any run of blanks and tabs."""
_HEADER_BYTES = 1 << 20
_EACH_RUN, _AT_ENDS = re.compile(rb"[ \t]+"), re.compile(rb"^ | (?=\r?$)", re.MULTILINE)
_CELL = re.compile(
    rb'(?<![^ \t\r\n])(?P<quoted>"(?:[^"]++|"")*+)(?P<end>"|\Z)'
    rb"|(?P<outer>^[ \t]+|[ \t]+(?=\r?$))|[ \t]+",
    re.MULTILINE,
)
"""A cell in quotes, which may go on in the next block; blanks at an end of a line; others."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class TextBytes:
    """The bytes of a text, of which the beginning has been looked at; what Arrow reads from."""

    closed = False

    def __init__(self, raw: Part, delimiter: str, *, quoted: bool) -> None:
        self._raw, self._delimiter, self._quoted = raw, delimiter, quoted
        self._head = b""
        self.encoding = "utf8"
        self.quotes = 0
        self._within = False

    def names(self) -> tuple[str, ...]:
        """Return the cells of the first row, without blanks around them."""
        place = self._raw.place
        self._head = self._more(_HEADER_BYTES)
        if self._head.startswith(_UTF16):
            self.encoding = "utf-16"
        elif b"\0" in self._head[:_HEADER_BYTES]:
            line = self._head[: self._head.index(b"\0")].count(b"\n") + 1
            raise DatasetError(
                f"{place}: line {line} holds a byte 0, so this is no CSV in UTF-8; if it is UTF-16 "
                "without its mark, convert it to UTF-8"
            )
        encoding = "utf-8-sig" if self.encoding == "utf8" else self.encoding
        whole = self._head[: len(self._head) & ~1] if self.encoding == "utf-16" else self._head
        text = whole.decode(encoding, errors="replace")
        try:
            lines = io.StringIO(text, newline="")
            rows = csv.reader(lines, delimiter=self._delimiter)
            if not self._quoted:
                rows = csv.reader(lines, delimiter=self._delimiter, quoting=csv.QUOTE_NONE)
            for record in rows:
                if record:
                    return tuple(name.strip() for name in record)
        except csv.Error as error:
            raise DatasetError(f"{place}: the first row is not CSV ({error})") from error
        raise DatasetError(f"{place} is empty; there is nothing to import")

    def read(self, size: int = -1) -> bytes:
        """Read on, as files do: at most `size` bytes."""
        head = self._head or self._more(size)
        found, self._head = (head, b"") if size < 0 else (head[:size], head[size:])
        self.quotes += found.count(b'"')
        return found

    def _more(self, size: int) -> bytes:
        """Read bytes of the file; where blanks part cells, whole lines without needless ones."""
        found = self._raw.file.read(size)
        if self._delimiter != BLANKS:
            return found
        found += self._raw.file.readline()
        if self._quoted and (self._within or b'"' in found):
            opened = b'"' * self._within  # as if the cell began here
            return _CELL.sub(self._cell, opened + found)[len(opened) :]
        return _AT_ENDS.sub(b"", _EACH_RUN.sub(b" ", found))

    def _cell(self, found: re.Match[bytes]) -> bytes:
        if found["quoted"] is None:
            return b"" if found["outer"] is not None else b" "
        self._within = not found["end"]
        return found[0]

    def close(self) -> None:
        """Leave the file to who opened it."""
