"""A table in a SQLite database that compiled functions write to, and plain Python alike.

    <catalogue>/persisted/<table>.sqlite      <table>(<key> INTEGER PRIMARY KEY, <columns>)

A row replaces the one of its key, in a transaction of its own, when it is kept. What is kept
outlives the process, but not the machine: the operating system is not waited for (`synchronous =
OFF`). The file is that of the last run: the first row that a process keeps begins a new one, so
that whoever only makes a program leaves the results of the last one as they are. A row that cannot
be kept, for want of room, is told by the return value, and its database is not whole.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from workloads.inputs.ads.sqlite import (
    ALIVE,
    CREATE,
    DONE,
    NO_MUTEX,
    READ_WRITE,
    URI,
    WORD,
    called,
    kept,
    library,
    uri,
)
from workloads.model import ModelError
from workloads.places import catalogue

FOLDER = "persisted"

Keep = Callable[[int, int, int, int, int], int]
"""Keeps a row of five whole numbers, the first of which is the key; 0 when it has been."""

_MUTEX_BYTES = 256
"""More than any system's `pthread_mutex_t`; zeroed it is a mutex that is free, on Linux."""


def sqlite_store(table: str, columns: tuple[str, str, str, str, str]) -> Keep:
    """Return what keeps a row in the database of a table.

    Raises:
        ModelError: there is no place for the database, or no library of SQLite.
    """
    path = stored(table)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"{path.parent} cannot be made, in which results are to be kept: {error.strerror}; "
            "give query parameter persist=none, or another catalogue (LAB_DATA)"
        ) from error
    return _function(path, table, columns)


def stored(table: str) -> Path:
    """Return where the database of a table is, once a row has been kept."""
    return (catalogue().path / FOLDER / f"{table}.sqlite").absolute()


@lru_cache(maxsize=8)
def _function(path: Path, table: str, columns: tuple[str, ...]) -> Keep:
    """Return the compiled function for a database: one connection, which threads take in turn."""
    from numba import cfunc, types  # heavy

    sqlite, system = library(), ctypes.CDLL(None)
    open_v2 = called(sqlite, "sqlite3_open_v2", 4)
    execute = called(sqlite, "sqlite3_exec", 5)
    prepare = called(sqlite, "sqlite3_prepare_v2", 5)
    bind = called(sqlite, "sqlite3_bind_int64", 3)
    step = called(sqlite, "sqlite3_step", 1)
    reset = called(sqlite, "sqlite3_reset", 1)
    lock = called(system, "pthread_mutex_lock", 1)
    unlock = called(system, "pthread_mutex_unlock", 1)
    unlink = called(system, "unlink", 1)
    copy = called(system, "memcpy", 3, WORD)

    key, *rest = columns
    file, name = kept(bytes(path)), kept(uri(path, "mode=rwc").encode())
    create = kept(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; "
        f"CREATE TABLE {table}({key} INTEGER PRIMARY KEY, {', '.join(rest)})".encode()
    )
    insert = kept(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)".encode())
    flags, word = READ_WRITE | CREATE | URI | NO_MUTEX, ctypes.sizeof(WORD)
    mutex, statement_at = kept(bytes(_MUTEX_BYTES)), kept(bytes(word))

    @cfunc(types.int64(*[types.int64] * len(columns)))
    def keep(a: int, b: int, c: int, d: int, e: int) -> int:
        lock(mutex)
        opened = np.zeros(2, dtype=np.intp)
        at = opened.ctypes.data
        copy(at + word, statement_at, word)
        failed = 0
        if opened[1] == 0:
            unlink(file)
            failed = open_v2(name, at, flags, 0)
            if failed == 0:
                failed = execute(opened[0], create, 0, 0, 0)
            if failed == 0:
                failed = prepare(opened[0], insert, -1, at + word, 0)
            if failed == 0:
                copy(statement_at, at + word, word)
        if failed == 0:
            statement = opened[1]
            bind(statement, 1, a)
            bind(statement, 2, b)
            bind(statement, 3, c)
            bind(statement, 4, d)
            bind(statement, 5, e)
            failed = step(statement) - DONE
            reset(statement)
        unlock(mutex)
        return failed

    ALIVE.append(keep)
    function: Keep = keep.ctypes
    return function
