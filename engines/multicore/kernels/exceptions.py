"""Collects the Python exceptions that compiled functions raise.

The core's threads cannot handle a Python exception.
Numba passes the exception to `sys.unraisablehook`, which prints it, and the kernel returns 0.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.registry import cpu_target

_NUMBA_OBJECT = repr(cpu_target.target_context)
"""The value that Numba passes as `object` to `sys.unraisablehook`."""

_LOCK = threading.Lock()
_ACTIVE_LISTS: list[list[BaseException]] = []
"""One list per active `collect_exceptions` block.
Each list gets every exception, because the hook cannot tell which kernel raised it."""


@contextmanager
def collect_exceptions() -> Iterator[list[BaseException]]:
    """Collect the exceptions of kernels in any thread until the block ends."""
    raised: list[BaseException] = []
    with _LOCK:
        _install_hook()
        _ACTIVE_LISTS.append(raised)
    try:
        yield raised
    finally:
        with _LOCK:
            _ACTIVE_LISTS[:] = [active for active in _ACTIVE_LISTS if active is not raised]
            hook = sys.unraisablehook
            if not _ACTIVE_LISTS and getattr(hook, "lists", None) is _ACTIVE_LISTS:
                sys.unraisablehook = hook.previous  # type: ignore[attr-defined]


def _install_hook() -> None:
    """Install a hook in front of the current one, once for all active blocks."""
    previous = sys.unraisablehook
    if getattr(previous, "lists", None) is _ACTIVE_LISTS:
        return

    def record(raised: "sys.UnraisableHookArgs") -> None:
        with _LOCK:
            lists = list(_ACTIVE_LISTS)
        if lists and raised.object == _NUMBA_OBJECT and raised.exc_value is not None:
            for active in lists:
                active.append(raised.exc_value)
        else:
            previous(raised)

    record.lists, record.previous = _ACTIVE_LISTS, previous  # type: ignore[attr-defined]
    sys.unraisablehook = record
