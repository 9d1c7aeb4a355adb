"""What compiled functions raise.

No thread of the core can take a Python exception. Numba hands it to `sys.unraisablehook`, which
prints it, and the kernel returns 0.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.registry import cpu_target

_RAISER = repr(cpu_target.target_context)
"""Whom Numba names as where an exception could not be raised."""

_LOCK = threading.Lock()
_NOTES: list[list[BaseException]] = []
"""Of the blocks that collect now, in any thread: whose kernel raised is not known."""


@contextmanager
def noted() -> Iterator[list[BaseException]]:
    """Collect what kernels raise until the block ends, whichever thread they are called by."""
    found: list[BaseException] = []
    with _LOCK:
        _listen()
        _NOTES.append(found)
    try:
        yield found
    finally:
        with _LOCK:
            _NOTES[:] = [notes for notes in _NOTES if notes is not found]
            hook = sys.unraisablehook
            if not _NOTES and getattr(hook, "notes", None) is _NOTES:
                sys.unraisablehook = hook.before  # type: ignore[attr-defined]


def _listen() -> None:
    """Put a hook before the one that is there, once for all who collect."""
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
