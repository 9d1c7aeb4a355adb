"""Memory for the temporaries of NumPy that is there, and touched, before the clock starts.

NumPy gets memory from the C library. glibc takes large blocks from the kernel one by one and gives
each back when it is freed, so that every temporary is fresh memory: a page fault for each page, or
each huge page, which the kernel clears. Both habits are settings (mallopt(3)).
"""

import ctypes
import os

import numpy as np

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # malloc.h
_MOST_MMAPS, _TRIM_BYTES = 65536, 128 << 10  # as glibc begins


def can_keep() -> bool:
    """Return whether the C library is glibc; with another one nothing here does anything."""
    return _glibc() is not None


def keep(touched_bytes: int) -> None:
    """Touch memory that the process keeps for its next blocks, until `release`."""
    libc = _glibc()
    if libc is None:
        return
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, -1)  # as a size: never
    np.full(touched_bytes, 1, np.uint8)


def release() -> None:
    """Give back what is free, and let the process take and give memory as it does by itself."""
    libc = _glibc()
    if libc is None:
        return
    libc.mallopt(_MMAP_MAX, _MOST_MMAPS)
    libc.mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)
    libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    try:
        of_glibc = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError):  # neither on Windows, nor with musl
        return None
    return ctypes.CDLL(None) if of_glibc else None
