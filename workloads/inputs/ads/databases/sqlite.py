"""Makes SQLite's C functions callable from compiled Python, and keeps their data alive.

Python's module `sqlite3` is ten times slower, as it serializes queries with a lock.
"""

import ctypes
import ctypes.util
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streamlab.workloads.model import ModelError

NAME = "sqlite"
"""The value of the query parameters that select the database, and the suffix of files."""

WORD = ctypes.c_ssize_t
WORD_BYTES = ctypes.sizeof(WORD)

ROW, DONE = 100, 101
"""SQLITE_ROW, SQLITE_DONE."""

READ_ONLY, READ_WRITE, CREATE, URI, NO_MUTEX = 0x1, 0x2, 0x4, 0x40, 0x8000
"""Flags of `sqlite3_open_v2`."""

_ALIVE: list[object] = []
"""Objects that C code points to; they live as long as the process."""


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


def c_function(library: Any, name: str, arguments: int, result: Any = ctypes.c_int) -> Any:
    """Return a C function that Numba can call; it takes `arguments` machine words, pointers included."""
    function = library[name]
    function.restype = result
    function.argtypes = [WORD] * arguments
    return function


def c_library() -> Any:
    """Return the C library."""
    return ctypes.CDLL(None)


def pin_bytes(text: bytes) -> int:
    """Copy a text to memory that is never freed, and return its address."""
    buffer = ctypes.create_string_buffer(text)
    _ALIVE.append(buffer)
    return ctypes.addressof(buffer)


def compile_c_function(function: Callable[..., Any], *, takes: int, has_result: bool = True) -> Any:
    """Compile a function of `takes` whole numbers to a C function that is never freed."""
    from numba import cfunc, types  # heavy

    native = cfunc((types.int64 if has_result else types.void)(*[types.int64] * takes))(function)
    _ALIVE.append(native)
    return native
