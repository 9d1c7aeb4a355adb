"""Standard output of a command: the lab's own text alone, until its reader goes."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

_OURS = frozenset({"lab", "reports", "results"})
"""Packages whose text is a command's output."""

_WRITERS = frozenset({"click", "rich", "threading"})
"""Packages that write what others hand them."""


class OwnOutput:
    """A standard output that the lab writes to; what a workload or a library prints goes beside it.

    Programs are run by `lab check`, `lab plan` and others in the lab's process, and modules of
    workloads are imported there. Their prints would make `--json` unreadable.
    """

    def __init__(self, own: TextIO) -> None:
        """Write to `own`, all else to standard error."""
        self._own = own

    def write(self, text: str) -> int:
        """Write text to the stream of the code that asks for it."""
        own = _is_ours(sys._getframe(1))
        return (self._own if own else sys.stderr).write(text)

    def __getattr__(self, name: str) -> Any:
        """Return what the own stream has."""
        return getattr(self._own, name)


def _is_ours(frame: FrameType | None) -> bool:
    """Return whether the first caller that does not only write for others is of the lab."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package in _OURS:
            return True
        if package not in _WRITERS:
            return False
        frame = frame.f_back
    return True


@contextmanager
def own_output() -> Iterator[None]:
    """Keep the standard output for the lab until this is left."""
    before = sys.stdout
    if before is None:  # it was closed when the process began
        yield
        return
    sys.stdout = OwnOutput(before)
    try:
        yield
    finally:
        sys.stdout = before


def reader_is_gone() -> bool:
    """Return whether nobody reads what standard output or standard error is connected to."""
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
    """Let nothing complain that what is still buffered has no reader."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
