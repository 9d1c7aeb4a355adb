"""Creates temporary folders; a failure to remove one does not stop the trial or the run."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
