"""Makes temporary folders; a failure to remove one does not end the trial or the run."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a folder below TMPDIR, and remove it after the block as far as that is possible.

    Files that cannot be removed (immutable, or mounted by an engine) stay, with their folders.
    """
    folder = tempfile.TemporaryDirectory(prefix=prefix)
    try:
        yield Path(folder.name)
    finally:
        with suppress(OSError):  # it restores folders' permissions, but stops at the first file
            folder.cleanup()
        shutil.rmtree(folder.name, ignore_errors=True)
