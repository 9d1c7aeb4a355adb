"""Reports files and folders that cannot be written; the checks find them before work starts."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlab.lab.errors import LabError

_BLOCK = bytes(4096)
"""Written to find out whether a disk is full."""


@contextmanager
def writing(output: str, path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a LabError that names the output and the file.

    Raises:
        LabError: a file cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise _write_error(output, error.filename or path, error) from error


def _write_error(output: str, place: str | Path, error: OSError) -> LabError:
    return LabError(
        f"{place}: {output} cannot be written: {error.strerror or error}; "
        "free space there, or use a writable folder"
    )


def check_file(path: Path | None, output: str) -> None:
    """Before work starts, check that a file can be written; does nothing for None.

    Raises:
        LabError: the path is a folder, or its folder is not writable.
    """
    if path is None:
        return
    if path.is_dir():
        raise LabError(f"{path}: {output} cannot be written: it is a folder; give a file")
    check_folder(path.parent, output)


def check_folder(folder: Path, output: str) -> None:
    """Check that files can be written into a folder, or into its nearest existing parent.

    The check writes only a temporary file without a name.

    Raises:
        LabError: the folder is a file, read-only or full.
    """
    nearest = folder.absolute()
    try:
        while not nearest.exists():
            nearest = nearest.parent
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(_BLOCK)
    except OSError as error:  # the error names the temporary file
        raise _write_error(output, nearest, error) from error
