"""Creates temporary folders; a failure to remove one does not stop the trial or the run."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streamlab.lab.errors import LabError
from streamlab.workloads.default_folders import SHARED_VARIABLE

PREFIX = "lab-job-"
_YOUNGEST_S = 60.0
"""A new folder certainly has its lock after this many seconds; locking takes microseconds."""


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Create a folder below `parent` (None: TMPDIR), and remove it after the block.

    Files that cannot be removed (immutable, or mounted by an engine) stay, with their folders.
    """
    folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
    try:
        yield Path(folder.name)
    finally:
        with suppress(OSError):  # restores folder permissions, but stops at the first error
            folder.cleanup()
        shutil.rmtree(folder.name, ignore_errors=True)


@contextmanager
def trial_folder() -> Iterator[Path]:
    """Create a folder that is removed after the block, or by `remove_orphaned_folders`.

    The folder lies below LAB_SHARED, so that the nodes of a cluster see it, or else below TMPDIR.
    If the folder cannot be removed (see `temporary_folder`), the caller reports it.
    """
    with temporary_folder(PREFIX, _parent_folder()) as folder:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield folder
        finally:
            os.close(lock)


def remove_orphaned_folders() -> None:
    """Remove the folders of trials without a lock: their labs were killed."""
    for path in _parent_folder().glob(f"{PREFIX}*"):
        with suppress(OSError):  # the folder is another user's, or was just removed
            if time.time() - path.stat().st_mtime < _YOUNGEST_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _parent_folder() -> Path:
    """Return the parent of trials' folders.

    Raises:
        LabError: LAB_SHARED is not a folder.
    """
    shared_folder = os.environ.get(SHARED_VARIABLE)
    if not shared_folder:
        return Path(tempfile.gettempdir())
    if not Path(shared_folder).is_dir():
        raise LabError(
            f"{SHARED_VARIABLE} is {shared_folder}, which is not a folder on this machine; create or mount it"
        )
    return Path(shared_folder).absolute()
