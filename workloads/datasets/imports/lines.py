"""Reads the lines of plain, gzip and xz files, with their numbers, in bounded memory."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from workloads.datasets.errors import DatasetError

LONGEST_LINE_BYTES = 16 << 20
"""Longer lines are not text; reading them whole would make memory depend on the file."""

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_BOM = b"\xef\xbb\xbf"


class BadRowError(Exception):
    """A line is not a row; the message says what is wrong with it."""


def check_readable(path: Path) -> None:
    """Refuse what cannot be read, before anything is started.

    Raises:
        DatasetError: the file is missing, not a file, empty, or not readable.
    """
    if not path.exists():
        raise DatasetError(f"{path}: no such file")
    if not path.is_file():
        raise DatasetError(f"{path} is not a file")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DatasetError(f"{path} is empty; there is nothing to import")
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def read_lines(path: Path, at: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line without its end) of a file, whose content tells its compression.

    A line that is too long is cut to just above the limit.

    Args:
        path: the file.
        at: told from time to time how many bytes of the file have been read.

    Raises:
        DatasetError: the file is truncated, damaged or cannot be read; names the last good line.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            text = _decompressed(raw)
            while line := text.readline(LONGEST_LINE_BYTES):
                number += 1
                if len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
                    _skip_line(text)
                if number == 1:
                    line = line.removeprefix(_BOM)
                if number % 4096 == 1:
                    at(raw.tell())
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
            at(raw.tell())
    except EOFError as error:
        raise DatasetError(
            f"{path}: the compressed file is truncated after line {number}; fetch it again"
        ) from error
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise DatasetError(
            f"{path}: the compressed file is damaged after line {number} ({error}); fetch it again"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read after line {number}: {error}") from error


def _decompressed(raw: BinaryIO) -> BinaryIO:
    start = raw.read(len(_XZ))
    raw.seek(0)
    if start.startswith(_GZIP):
        return gzip.open(raw)  # type: ignore[return-value]  # a file object in all that is used
    if start.startswith(_XZ):
        return lzma.open(raw)  # type: ignore[return-value]  # a file object in all that is used
    return raw


def _skip_line(text: BinaryIO) -> None:
    while rest := text.readline(LONGEST_LINE_BYTES):
        if rest.endswith(b"\n"):
            return


def decoded(line: bytes) -> str:
    """Return the text of a line.

    Raises:
        BadRowError: it is too long, empty, or not UTF-8.
    """
    if len(line) >= LONGEST_LINE_BYTES:
        raise BadRowError(f"longer than {LONGEST_LINE_BYTES >> 20} MiB")
    if not line:
        raise BadRowError("empty line")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRowError(f"not UTF-8 at byte {error.start + 1}") from error
