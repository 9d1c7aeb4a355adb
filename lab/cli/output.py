"""Reserves a command's standard output for the lab's text, and notices when its reader closes."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

_OURS = ("streamlab.lab.", "streamlab.reports.", "streamlab.results.")
"""Packages whose text is a command's output."""

_WRITERS = frozenset({"click", "rich", "threading"})
"""Packages that write on behalf of their callers."""


class LabOutput:
    """Standard output for the lab's text; text of workloads and libraries goes to standard error.

    `lab check`, `lab plan` and other commands run programs and import workloads in the lab's
    process. Text that these print would make `--json` unreadable.
    """

    def __init__(self, output: TextIO) -> None:
        """Write the lab's text to `output`, all other text to standard error."""
        self._output = output

    def write(self, text: str) -> int:
        """Write text to the stream of the calling code."""
        of_lab = _is_ours(sys._getframe(1))
        return (self._output if of_lab else sys.stderr).write(text)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the lab's stream."""
        return getattr(self._output, name)


def _is_ours(frame: FrameType | None) -> bool:
    """Return whether the first caller outside `_WRITERS` belongs to the lab."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith(_OURS):
            return True
        if module.partition(".")[0] not in _WRITERS:
            return False
        frame = frame.f_back
    return True


@contextmanager
def lab_output() -> Iterator[None]:
    """Reserve standard output for the lab within the block."""
    before = sys.stdout
    if before is None:  # closed before the process started
        yield
        return
    sys.stdout = LabOutput(before)
    try:
        yield
    finally:
        sys.stdout = before


def reader_is_gone() -> bool:
    """Return whether standard output or standard error is a pipe without a reader."""
    for stream in (sys.stdout, sys.stderr):
        try:
            poll = select.poll()
            poll.register(stream.fileno(), 0)  # errors are always reported
            if any(events & select.POLLERR for _, events in poll.poll(0)):
                return True
        except (AttributeError, OSError, ValueError):  # closed, or no file
            continue
    return False


def drop_output() -> None:
    """Discard buffered output, so that Python does not report a closed pipe at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
