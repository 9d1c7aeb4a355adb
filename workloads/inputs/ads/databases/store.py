"""Stores rows in a database table of SQLite, from compiled code and from plain Python.

    <temporary folder>/persisted/<table>.sqlite       <table>(<key> PRIMARY KEY, <columns>)

A trial can write only to its temporary folder, which is removed after the trial.
A stored row replaces the row of its key, in its own transaction, which does not wait for the disk
(`synchronous = OFF`). The first row that a process stores begins a new file. If a row cannot be stored,
such as on a full disk, the function returns an error and the database is incomplete.
"""

import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.databases.sqlite import (
    CREATE,
    DONE,
    NAME,
    NO_MUTEX,
    READ_WRITE,
    URI,
    WORD,
    WORD_BYTES,
    c_function,
    c_library,
    compile_c_function,
    library,
    pin_bytes,
    uri,
)
from streamlab.workloads.model import ModelError

FOLDER = "persisted"

StoreRow = Callable[[int, int, int, int, int], int]
"""Stores a row of five whole numbers, key first; returns 0 on success."""
Columns = tuple[str, str, str, str, str]

_MUTEX_BYTES = 256
"""Room for a mutex, more than any system's `pthread_mutex_t`; on Linux, zeros are an unlocked mutex."""


def database_path(table: str) -> Path:
    """Return the path of a table's database."""
    return (Path(tempfile.gettempdir()) / FOLDER / f"{table}.{NAME}").absolute()


def row_store(table: str, columns: Columns) -> StoreRow:
    """Return a function that stores a row in the database of a table.

    Raises:
        ModelError: the folder cannot be made, or SQLite's library is not installed.
    """
    path = database_path(table)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"folder {path.parent} for stored results cannot be made: {error.strerror}; give query "
            "parameter persist=none, or another temporary folder (TMPDIR)"
        ) from error
    return _store(path, table, columns)


@lru_cache(maxsize=8)
def _store(path: Path, table: str, columns: Columns) -> StoreRow:
    """Return a compiled function that stores a row; its first call begins a new file."""
    sqlite = library()
    open_v2 = c_function(sqlite, "sqlite3_open_v2", 4)
    execute = c_function(sqlite, "sqlite3_exec", 5)
    prepare = c_function(sqlite, "sqlite3_prepare_v2", 5)
    bind = c_function(sqlite, "sqlite3_bind_int64", 3)
    step = c_function(sqlite, "sqlite3_step", 1)
    reset = c_function(sqlite, "sqlite3_reset", 1)
    close = c_function(sqlite, "sqlite3_close", 1)
    unlink = c_function(c_library(), "unlink", 1)

    key, *rest = columns
    file, name = pin_bytes(bytes(path)), pin_bytes(uri(path, "mode=rwc").encode())
    create = pin_bytes(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; "
        f"CREATE TABLE {table}({key} INTEGER PRIMARY KEY, {', '.join(rest)})".encode()
    )
    replace = pin_bytes(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)".encode())
    flags = READ_WRITE | CREATE | URI | NO_MUTEX

    def begin() -> int:
        unlink(file)
        pointers = np.zeros(2, dtype=np.intp)  # connection, statement
        connection_address = pointers.ctypes.data
        failed = open_v2(name, connection_address, flags, 0)
        if failed == 0:
            failed = execute(pointers[0], create, 0, 0, 0)
        if failed == 0:
            failed = prepare(pointers[0], replace, -1, connection_address + pointers.itemsize, 0)
        if failed != 0:
            close(pointers[0])
            return 0
        return pointers[1]  # type: ignore[no-any-return]  # NumPy's gap

    def insert(statement: int) -> int:
        failed: int = step(statement) - DONE
        reset(statement)
        return failed

    return _shared_store(begin, bind, insert)


def _shared_store(begin: Callable[[], int], bind: Any, execute: Callable[[int], int]) -> StoreRow:
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
    mutex, statement_address, word = (
        pin_bytes(bytes(_MUTEX_BYTES)),
        pin_bytes(bytes(WORD_BYTES)),
        WORD_BYTES,
    )

    def store(a: int, b: int, c: int, d: int, e: int) -> int:
        lock(mutex)
        statement = np.zeros(1, dtype=np.intp)
        copy(statement.ctypes.data, statement_address, word)
        if statement[0] == 0:
            statement[0] = compiled_begin()
            copy(statement_address, statement.ctypes.data, word)
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
