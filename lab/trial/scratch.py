"""Creates temporary folders; a failure to remove one does not stop the trial or the run."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "lab-job-"
_YOUNGEST_S = 60.0
"""A younger folder may not be locked yet: the lock follows within microseconds."""


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Create a folder below TMPDIR, and remove it after the block as far as possible.

    Files that cannot be removed (immutable, or mounted by an engine) stay, with their folders.
    """
    folder = tempfile.TemporaryDirectory(prefix=prefix)
    try:
        yield Path(folder.name)
    finally:
        with suppress(OSError):  # restores folder permissions, but stops at the first error
            folder.cleanup()
        shutil.rmtree(folder.name, ignore_errors=True)


@contextmanager
def trial_folder() -> Iterator[Path]:
    """Create a folder below TMPDIR that is removed after the block, or by `remove_orphaned_folders`.

    A folder with a file that cannot be removed (immutable, or mounted by the engine) stays; the caller
    reports it.
    """
    with temporary_folder(PREFIX) as folder:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield folder
        finally:
            os.close(lock)


def remove_orphaned_folders() -> None:
    """Remove the folders of killed labs: those without a lock."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or just removed
            if time.time() - path.stat().st_mtime < _YOUNGEST_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
