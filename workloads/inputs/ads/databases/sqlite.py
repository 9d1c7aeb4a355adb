"""SQLite's C library.

Python's own module holds its lock while it asks, and is ten times slower.
"""

import ctypes
import ctypes.util
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streamlab.workloads.model import ModelError

ROW, DONE = 100, 101
"""SQLITE_ROW, SQLITE_DONE."""

READ_ONLY, READ_WRITE, CREATE, URI, NO_MUTEX = 0x1, 0x2, 0x4, 0x40, 0x8000
"""Flags of `sqlite3_open_v2`."""


@lru_cache(maxsize=1)
def library() -> Any:
    """Return SQLite's library.

    Raises:
        ModelError: this machine has none.
    """
    name = ctypes.util.find_library("sqlite3")
    if name is None:
        raise ModelError(
            "there is no library of SQLite on this machine (Debian's package is libsqlite3-0); "
            "install it, or give query parameter lookup=memory"
        )
    return ctypes.CDLL(name)


def uri(path: Path, how: str) -> str:
    """Return how a database is to be opened."""
    return f"file:{quote(str(path))}?{how}"
