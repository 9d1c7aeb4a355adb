"""Turns what a file system refuses into errors that name the place, before work is begun."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError

_BLOCK = bytes(4096)


@contextmanager
def writing(what: str, place: Path) -> Iterator[None]:
    """Name what was being written, and where, when the file system refuses it.

    Raises:
        LabError: it did.
    """
    try:
        yield
    except OSError as error:
        where = error.filename or place
        raise LabError(
            f"{where}: {what} cannot be written: {error.strerror or error}; "
            "make room there, or name a folder that can be written"
        ) from error


def check_file(path: Path | None, what: str) -> None:
    """Check that a file can be written, so that no work is lost for it; None is no file.

    Raises:
        LabError: it is a folder, or `check_folder` would refuse its folder.
    """
    if path is None:
        return
    if path.is_dir():
        raise LabError(f"{path}: {what} cannot be written: it is a folder; name a file")
    check_folder(path.parent, what)


def check_folder(folder: Path, what: str) -> None:
    """Check that files can be written into a folder, or into what it would be made in.

    Nothing is made but a file that has no name and is gone at once.

    Raises:
        LabError: they cannot: it is a file, read-only or full.
    """
    with writing(what, folder):
        there = folder.absolute()
        while not there.exists():
            there = there.parent
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(_BLOCK)
