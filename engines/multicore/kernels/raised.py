"""What compiled functions raise.

No thread of the core can take a Python exception. Numba hands it to `sys.unraisablehook`, which
prints it, and the kernel returns 0.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.registry import cpu_target

_RAISER = repr(cpu_target.target_context)
"""Whom Numba names as where an exception could not be raised."""


@contextmanager
def noted() -> Iterator[list[BaseException]]:
    """Collect what kernels raise until the block ends, whichever thread they are called by."""
    found: list[BaseException] = []
    before = sys.unraisablehook

    def note(raised: "sys.UnraisableHookArgs") -> None:
        if raised.object == _RAISER and raised.exc_value is not None:
            found.append(raised.exc_value)
        else:
            before(raised)

    sys.unraisablehook = note
    try:
        yield found
    finally:
        sys.unraisablehook = before
