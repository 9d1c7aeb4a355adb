"""Turns what a file system refuses into errors that name the place, before work is begun."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlab.lab.errors import LabError

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
        raise _refused(what, error.filename or place, error) from error


def _refused(what: str, where: str | Path, error: OSError) -> LabError:
    return LabError(
        f"{where}: {what} cannot be written: {error.strerror or error}; "
        "make room there, or name a folder that can be written"
    )


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
    there = folder.absolute()
    try:
        while not there.exists():
            there = there.parent
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(_BLOCK)
    except OSError as error:  # which names the file that was tried
        raise _refused(what, there, error) from error
