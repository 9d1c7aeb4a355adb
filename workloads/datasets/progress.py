"""Reports the progress of long steps to callers, also from Spark tasks.

A task cannot call back into the driver. It writes the number of finished rows to a small file next to
its output, and the driver reads that file periodically.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_PERIOD_S = 0.2
"""Time between two calls of `Progress`."""

Progress = Callable[[str, int, int], None]
"""Shows the name of a step, the work done, and the total work (0 if unknown). Called from another thread."""


def report(path: Path, done: int) -> None:
    """Write the progress of a task to `path`."""
    new = path.with_suffix(".new")
    new.write_text(str(done), encoding="ascii")
    new.replace(path)


@contextlib.contextmanager
def watch(
    progress: Progress | None, step: str, folder: Path, total: int, before: int = 0
) -> Iterator[None]:
    """Call `progress` with `before` plus the sum of the tasks' reports in `folder`, until the block ends."""
    if progress is None:
        yield
        return
    stopped = threading.Event()

    def loop() -> None:
        while not stopped.wait(_PERIOD_S):
            done = before + _rows_done(folder)
            progress(step, min(done, total) if total else done, total)

    thread = threading.Thread(target=loop, name="dataset-progress", daemon=True)
    progress(step, 0, total)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
    progress(step, total, total)


def _rows_done(folder: Path) -> int:
    done = 0
    for path in folder.glob("*.done"):
        with contextlib.suppress(OSError, ValueError):  # the task is replacing the file
            done += int(path.read_text(encoding="ascii"))
    return done
