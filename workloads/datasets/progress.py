"""Progress of long steps: what callers are told, and how Spark tasks tell it.

A task cannot call back into the driver, so it writes the number of rows done to a small file beside
its output, which the driver reads from time to time.
"""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

_PERIOD_S = 0.2


class Progress(Protocol):
    """Called with the step in words, what is done, and the total (0 when it is not known)."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Show it. Called from another thread, a few times a second."""


def report(path: Path, done: int) -> None:
    """Tell from a task how far it is, at `path`."""
    new = path.with_suffix(".new")
    new.write_text(str(done), encoding="ascii")
    new.replace(path)


@contextlib.contextmanager
def watch(progress: Progress | None, step: str, folder: Path, total: int) -> Iterator[None]:
    """Call `progress` with the sum of what tasks report in `folder`, until the block is left."""
    if progress is None:
        yield
        return
    stopped = threading.Event()

    def loop() -> None:
        while not stopped.wait(_PERIOD_S):
            progress(step, min(_reported(folder), total) if total else _reported(folder), total)

    thread = threading.Thread(target=loop, name="dataset-progress", daemon=True)
    progress(step, 0, total)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
    progress(step, total, total)


def _reported(folder: Path) -> int:
    done = 0
    for path in folder.glob("*.done"):
        with contextlib.suppress(OSError, ValueError):  # replaced while it was read
            done += int(path.read_text(encoding="ascii"))
    return done
