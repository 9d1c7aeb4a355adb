"""Loads SQLite's C library.

Python's module `sqlite3` is ten times slower, as it serializes queries with a lock.
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
        ModelError: the library is not installed.
    """
    name = ctypes.util.find_library("sqlite3")
    if name is None:
        raise ModelError(
            "SQLite's library is not installed; install it (Debian: libsqlite3-0), or give query "
            "parameter lookup=memory"
        )
    return ctypes.CDLL(name)


def uri(path: Path, options: str) -> str:
    """Return the URI that opens a database with these options."""
    return f"file:{quote(str(path))}?{options}"
