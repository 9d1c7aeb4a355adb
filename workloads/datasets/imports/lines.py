"""Reads the lines of raw files, with their numbers, in bounded memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from workloads.datasets.imports.kind import BadRowError, ImportOptions
from workloads.datasets.imports.raw import At, parts, readable
from workloads.datasets.text.decoding import LONGEST_LINE_BYTES, text_blocks

_SHOWN_CHARACTERS = 120


class Line(NamedTuple):
    """One line.

    Attributes:
        file: name of the file that it is in.
        number: from 1, in that file.
        raw: its bytes without the line's end.
    """

    file: str
    number: int
    raw: bytes

    @property
    def further(self) -> int:
        """No line has others after its first."""
        return 0

    @property
    def text(self) -> str:
        """The line as UTF-8 text.

        Raises:
            BadRowError: it is too long, empty, or not UTF-8.
        """
        self.check()
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadRowError(f"not UTF-8 at byte {error.start + 1}") from error

    def check(self) -> None:
        """Refuse a line that is no text.

        Raises:
            BadRowError: it is too long or empty.
        """
        if len(self.raw) >= LONGEST_LINE_BYTES:
            raise BadRowError(f"longer than {LONGEST_LINE_BYTES >> 20} MiB")
        if not self.raw:
            raise BadRowError("empty line")

    def shown(self) -> str:
        """Return its beginning, for messages."""
        return shown_text(self.raw[: 4 * _SHOWN_CHARACTERS].decode("utf-8", errors="replace"))


def whole_number(column: str, text: str, limit: int) -> int:
    """Return a cell as a whole number from 0 to a limit.

    Raises:
        BadRowError: it is none.
    """
    if not (text.isascii() and text.isdigit()):
        raise BadRowError(f"column {column} is {text!r}, not a whole number from 0")
    if len(text) > 19 or int(text) > limit:
        raise BadRowError(f"column {column} is {text}, above {limit}")
    return int(text)


def shown_text(text: str) -> str:
    """Return the beginning of a text, for messages."""
    cut = text[:_SHOWN_CHARACTERS]
    return repr(cut) + ("..." if len(text) > len(cut) else "")


def read_lines(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Line]]:
    """Yield (place, line) of all texts in a raw file: an `ImportKind.read`.

    A line that is too long is cut to just above the limit.

    Raises:
        DatasetError: the file is truncated, damaged or cannot be read; names the last good line.
    """
    for part in parts(path):
        number = 0
        with readable(part.place, lambda: f"line {number}"):  # noqa: B023  # called in this turn
            for block in text_blocks(part.file, part.place):
                at(part.at())
                for raw in block[:-1].split(b"\n"):
                    number += 1
                    yield f"{part.place}:{number}", Line(part.name, number, raw.removesuffix(b"\r"))
        at(part.at())
