"""Opens raw files: plain, gzip or xz, alone or as members of a tar or zip archive."""

import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.text.decoding import LONGEST_LINE_BYTES, Bytes

ReportBytesRead = Callable[[int], None]
"""Receives the number of bytes read of a raw file so far."""

_GZIP, _XZ, _ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", b"PK\x03\x04"
"""The first bytes of files of these formats."""
_TAR, _TAR_OFFSET = b"ustar", 257
"""The mark of a tar archive, and its offset in the first header."""
_FIRST_READ_BYTES = 1 << 16
"""Bytes that the first call of `ByteRange.read_past_end` reads. Each further call reads twice as many."""
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""The start of a pointer file, which Git LFS leaves in place of a file that was not fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawText:
    """One text: a raw file, or a member of an archive.

    Attributes:
        place: the name in messages: the path, or `path!member`.
        name: the name of the file or member, without folders.
        file: the decompressed bytes.
        bytes_read: returns the number of bytes read of the raw file.
        row: number of the first row.
        line: number of the first line.
        read_past_end: reads lines past the end of `file`, where its last record may end; returns no bytes at the
            end of the raw file.
    """

    place: str
    name: str
    file: Bytes
    bytes_read: Callable[[], int]
    row: int = 1
    line: int = 1
    read_past_end: Callable[[], bytes] = bytes


def check_readable(path: Path) -> None:
    """Raise a `DatasetError` for a missing, empty, unreadable or irregular file, or a Git LFS pointer."""
    if not path.exists():
        raise DatasetError(f"{path}: no such file")
    if not path.is_file():
        raise DatasetError(f"{path} is not a regular file")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DatasetError(f"{path} is empty; there is nothing to import")
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
    if is_lfs_pointer(path):
        raise DatasetError(
            f"{path} is a Git LFS pointer instead of the file: run `git lfs pull` in its "
            "repository (run `git lfs install` once before)"
        )


def state_of(path: Path) -> tuple[int, int]:
    """Return the size of a file and the time of its last change, to detect changes."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def is_lfs_pointer(path: Path) -> bool:
    """Return whether a file is a Git LFS pointer; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(LFS_POINTER)) == LFS_POINTER
    except OSError:
        return False


def read_texts(path: Path) -> Iterator[RawText]:
    """Yield the texts in a raw file, whose first bytes determine its format; consume each text before taking the next.

    Members of a zip archive come in order of their names, members of a tar archive in stored order.
    Folders, links, and files whose name begins with a dot are skipped.

    Raises:
        DatasetError: the file is truncated, damaged or cannot be read.
    """
    with convert_read_errors(path, lambda: "line 0"), path.open("rb") as raw:
        start = raw.read(len(_XZ))
        raw.seek(0)
        if start.startswith(_ZIP):
            yield from _zip_members(path, raw)
            return
        archive = _is_tar(_open_decompressed(raw, start))
        raw.seek(0)
        file = _open_decompressed(raw, start)
        if archive:
            yield from _tar_members(path, raw, file)
        else:
            yield RawText(place=str(path), name=path.name, file=file, bytes_read=raw.tell)


def is_plain(path: Path) -> bool:
    """Return whether a file is neither compressed nor an archive."""
    with convert_read_errors(path, lambda: "line 0"), path.open("rb") as raw:
        start = raw.read(len(_XZ))
        raw.seek(0)
        return not start.startswith((_ZIP, _GZIP, _XZ)) and not _is_tar(raw)


class ByteRange:
    """Complete lines of a plain file, as bytes.

    Attributes:
        begin: the first byte.
        end: the byte after the last; `read_past_end` increases it.
    """

    def __init__(self, raw: BinaryIO, begin: int, end: int) -> None:
        raw.seek(begin)
        self._raw, self.begin, self.end = raw, begin, max(begin, end)
        self._step = _FIRST_READ_BYTES

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""
        return self._raw.read(min(size, self.end - self._raw.tell()))

    def read_past_end(self) -> bytes:
        """Return the next lines past the end, about twice as many at each call, and move the end behind them."""
        self._raw.seek(self.end)
        lines = self._raw.read(self._step) + self._raw.readline(LONGEST_LINE_BYTES)
        self._step *= 2
        self.end += len(lines)
        return lines if lines.endswith(b"\n") or not lines else lines + b"\n"

    def bytes_read(self) -> int:
        """Return the number of bytes read."""
        return self._raw.tell() - self.begin


def _zip_members(path: Path, raw: BinaryIO) -> Iterator[RawText]:
    with zipfile.ZipFile(raw) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            name = Path(info.filename).name
            if not info.is_dir() and not name.startswith("."):
                with archive.open(info) as member:
                    yield RawText(
                        place=f"{path}!{info.filename}", name=name, file=member, bytes_read=raw.tell
                    )


def _tar_members(path: Path, raw: BinaryIO, file: IO[bytes]) -> Iterator[RawText]:
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for info in archive:
            name = Path(info.name).name
            # A link has no text; its target is read as a separate member.
            member = archive.extractfile(info) if info.isreg() else None
            if member is not None and not name.startswith("."):
                yield RawText(
                    place=f"{path}!{info.name}", name=name, file=member, bytes_read=raw.tell
                )


def _is_tar(file: Bytes) -> bool:
    """Return whether a file is a tar archive; False if its start is damaged, which reading reports later."""
    try:
        return file.read(_TAR_OFFSET + len(_TAR))[_TAR_OFFSET:] == _TAR
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error):
        return False


def _open_decompressed(raw: BinaryIO, start: bytes) -> IO[bytes]:
    if start.startswith(_GZIP):
        return gzip.open(raw)  # type: ignore[return-value]  # it has all methods used here
    if start.startswith(_XZ):
        return lzma.open(raw)
    return raw


@contextmanager
def convert_read_errors(path: Path | str, last_good: Callable[[], str]) -> Iterator[None]:
    """Convert errors from reading a damaged file into a `DatasetError` with the last good place."""
    try:
        yield
    except (EOFError, tarfile.ReadError) as error:
        raise DatasetError(
            f"{path}: the file is truncated after {last_good()}; fetch it again"
        ) from error
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{path}: the file is damaged after {last_good()} ({error}); fetch it again"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read after {last_good()}: {error}") from error
