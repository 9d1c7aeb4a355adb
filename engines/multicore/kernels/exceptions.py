"""Collects the Python exceptions that compiled functions raise.

The core's threads cannot handle a Python exception.
Numba passes it to `sys.unraisablehook`, which prints it, and the kernel returns 0.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.registry import cpu_target

_RAISER = repr(cpu_target.target_context)
"""The object that Numba reports with an exception it could not raise."""

_LOCK = threading.Lock()
_NOTES: list[list[BaseException]] = []
"""Exceptions of each active block, in any thread. All blocks collect each one, since its kernel is unknown."""


@contextmanager
def collect_exceptions() -> Iterator[list[BaseException]]:
    """Collect the exceptions of kernels in any thread until the block ends."""
    raised: list[BaseException] = []
    with _LOCK:
        _listen()
        _NOTES.append(raised)
    try:
        yield raised
    finally:
        with _LOCK:
            _NOTES[:] = [notes for notes in _NOTES if notes is not raised]
            hook = sys.unraisablehook
            if not _NOTES and getattr(hook, "notes", None) is _NOTES:
                sys.unraisablehook = hook.before  # type: ignore[attr-defined]


def _listen() -> None:
    """Install a hook in front of the current one, once for all active blocks."""
    before = sys.unraisablehook
    if getattr(before, "notes", None) is _NOTES:
        return

    def note(raised: "sys.UnraisableHookArgs") -> None:
        with _LOCK:
            now = list(_NOTES)
        if now and raised.object == _RAISER and raised.exc_value is not None:
            for notes in now:
                notes.append(raised.exc_value)
        else:
            before(raised)

    note.notes, note.before = _NOTES, before  # type: ignore[attr-defined]
    sys.unraisablehook = note
