"""Touches memory for NumPy's temporaries before the clock starts, and keeps it in the process.

By default glibc gets each large block from the kernel and returns the block when it is freed. Every temporary then
costs a page fault for each page (or huge page), which the kernel clears. Two settings prevent this (mallopt(3)).
"""

import ctypes
import os

import numpy as np

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # malloc.h
_MAX_MMAPS, _TRIM_BYTES = 65536, 128 << 10  # glibc's defaults


def keep(touched_bytes: int) -> None:
    """Touch memory and keep it in the process for later allocations, until `release`."""
    libc = glibc()
    if libc is None:
        return
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, -1)  # -1 is the largest size, so glibc never trims.
    np.full(touched_bytes, 1, np.uint8)


def release() -> None:
    """Return free memory to the kernel and restore glibc's defaults."""
    libc = glibc()
    if libc is None:
        return
    libc.mallopt(_MMAP_MAX, _MAX_MMAPS)
    libc.mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)
    libc.malloc_trim(0)


def glibc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc, else None; this module then has no effect."""
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError):  # Raised on Windows, and with musl.
        return None
    return ctypes.CDLL(None) if version else None
