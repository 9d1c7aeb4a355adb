"""Stores rows in a database table, from compiled code and from plain Python.

    <temporary folder>/persisted/<table>.<system>       <table>(<key> PRIMARY KEY, <columns>)

A trial's temporary folder is removed after it; no other folder is writable for a trial.
A stored row replaces the row of its key, in its own transaction, which does not wait for the disk.
The first row that a process stores begins a new file. If a row cannot be stored (disk full), the
function returns an error and the database is incomplete.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.databases.c_functions import (
    WORD,
    WORD_BYTES,
    c_function,
    c_library,
    compile_c_function,
    pin_bytes,
)
from streamlab.workloads.model import ModelError

FOLDER = "persisted"

StoreRow = Callable[[int, int, int, int, int], int]
"""Stores a row of five whole numbers, key first; returns 0 on success."""
Columns = tuple[str, str, str, str, str]

_MUTEX_BYTES = 256
"""More than any system's `pthread_mutex_t`; on Linux, zeros are an unlocked mutex."""


def database_path(table: str, name: str) -> Path:
    """Return the path of a table's database; `name` is the database system."""
    return (Path(tempfile.gettempdir()) / FOLDER / f"{table}.{name}").absolute()


def prepare_database(table: str, name: str) -> Path:
    """Return the path of a table's database, and make its folder.

    Raises:
        ModelError: the folder cannot be made.
    """
    path = database_path(table, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"folder {path.parent} for stored results cannot be made: {error.strerror}; give query "
            "parameter persist=none, or another temporary folder (TMPDIR)"
        ) from error
    return path


def shared_store(begin: Callable[[], int], bind: Any, execute: Callable[[int], int]) -> StoreRow:
    """Return a compiled function that stores a row; threads share one connection by a lock.

    Args:
        begin: begins a new database and returns the address of its statement, or 0.
        bind: the C function that sets a parameter of a statement, by number (from 1) and value.
        execute: executes the statement; returns 0 on success.
    """
    from numba import njit  # heavy

    compiled_begin: Any = njit(begin)
    compiled_execute: Any = njit(execute)
    lock = c_function(c_library(), "pthread_mutex_lock", 1)
    unlock = c_function(c_library(), "pthread_mutex_unlock", 1)
    copy = c_function(c_library(), "memcpy", 3, WORD)
    mutex, statement_at, word = (
        pin_bytes(bytes(_MUTEX_BYTES)),
        pin_bytes(bytes(WORD_BYTES)),
        WORD_BYTES,
    )

    def store(a: int, b: int, c: int, d: int, e: int) -> int:
        lock(mutex)
        statement = np.zeros(1, dtype=np.intp)
        copy(statement.ctypes.data, statement_at, word)
        if statement[0] == 0:
            statement[0] = compiled_begin()
            copy(statement_at, statement.ctypes.data, word)
        failed = 1
        if statement[0] != 0:
            bind(statement[0], 1, a)
            bind(statement[0], 2, b)
            bind(statement[0], 3, c)
            bind(statement[0], 4, d)
            bind(statement[0], 5, e)
            failed = compiled_execute(statement[0])
        unlock(mutex)
        return failed

    function: StoreRow = compile_c_function(store, takes=5).ctypes
    return function
