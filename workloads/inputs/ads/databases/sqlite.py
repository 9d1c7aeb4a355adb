"""Looks up ids and stores rows in SQLite, by its C library.

Look-ups open the database as immutable, without locks. Stored rows do not wait for the disk
(`synchronous = OFF`). Python's module `sqlite3` is ten times slower, as it serializes queries with a lock.
"""

import ctypes
import ctypes.util
import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from streamlab.workloads.inputs.ads.databases.c_functions import (
    WORD,
    c_function,
    c_library,
    pin_bytes,
)
from streamlab.workloads.inputs.ads.databases.lookup import (
    COUNT,
    SELECT,
    Find,
    System,
    Table,
    damaged_error,
    locked_error,
    per_thread_lookup,
    unreadable_error,
)
from streamlab.workloads.inputs.ads.databases.store import (
    Columns,
    StoreRow,
    prepare_database,
    shared_store,
)
from streamlab.workloads.inputs.ads.schema import NONE
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


_LOCK_S = 1.0


def _write(path: Path, table: Table) -> None:
    with closing(_open(path, "mode=rwc")) as database:
        database.execute("CREATE TABLE lookup(id INTEGER PRIMARY KEY, value INTEGER)")
        database.executemany("INSERT INTO lookup VALUES (?, ?)", enumerate(table.tolist()))
        database.commit()


def _count(path: Path) -> tuple[int, int]:
    try:
        with closing(_open(path, "mode=ro")) as database:
            (state,) = database.execute("PRAGMA quick_check").fetchone()
            rows, total = database.execute(COUNT).fetchone()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) not in (5, 6):  # SQLITE_BUSY, SQLITE_LOCKED
            raise unreadable_error(path, error) from error
        raise locked_error(path) from error
    except sqlite3.DatabaseError as error:
        raise damaged_error(path, error) from error
    if state != "ok":
        raise damaged_error(path, state)
    return rows, total


def _open(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(uri(path, options), uri=True, timeout=_LOCK_S)


@lru_cache(maxsize=8)
def _find(path: Path) -> Find:
    sqlite = library()
    open_v2 = c_function(sqlite, "sqlite3_open_v2", 4)
    prepare = c_function(sqlite, "sqlite3_prepare_v2", 5)
    bind = c_function(sqlite, "sqlite3_bind_int64", 3)
    step = c_function(sqlite, "sqlite3_step", 1)
    column = c_function(sqlite, "sqlite3_column_int64", 2, WORD)
    reset = c_function(sqlite, "sqlite3_reset", 1)
    database_of = c_function(sqlite, "sqlite3_db_handle", 1, WORD)
    finalize = c_function(sqlite, "sqlite3_finalize", 1)
    close = c_function(sqlite, "sqlite3_close", 1)
    name = pin_bytes(uri(path, "immutable=1").encode())
    select, flags = pin_bytes(SELECT), READ_ONLY | URI | NO_MUTEX

    def connect() -> int:
        opened = np.zeros(2, dtype=np.intp)
        at = opened.ctypes.data
        if open_v2(name, at, flags, 0) != 0:
            close(opened[0])
            return 0
        if prepare(opened[0], select, -1, at + opened.itemsize, 0) != 0:
            close(opened[0])
            return 0
        return opened[1]  # type: ignore[no-any-return]  # NumPy's gap

    def query(statement: int, key: int) -> int:
        bind(statement, 1, key)
        answer = NONE
        if step(statement) == ROW:
            answer = column(statement, 0)
        reset(statement)
        return answer

    def close_connection(statement: int) -> None:
        database = database_of(statement)
        finalize(statement)
        close(database)

    return per_thread_lookup(connect, query, close_connection)


SQLITE = System(name="sqlite", write=_write, count=_count, find=_find, error=sqlite3.Error)


def sqlite_store(table: str, columns: Columns) -> StoreRow:
    """Return a function that stores a row in the SQLite database of a table.

    Raises:
        ModelError: the folder cannot be made, or SQLite's library is not installed.
    """
    return _store(prepare_database(table, "sqlite"), table, columns)


@lru_cache(maxsize=8)
def _store(path: Path, table: str, columns: Columns) -> StoreRow:
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
        opened = np.zeros(2, dtype=np.intp)
        at = opened.ctypes.data
        failed = open_v2(name, at, flags, 0)
        if failed == 0:
            failed = execute(opened[0], create, 0, 0, 0)
        if failed == 0:
            failed = prepare(opened[0], replace, -1, at + opened.itemsize, 0)
        if failed != 0:
            close(opened[0])
            return 0
        return opened[1]  # type: ignore[no-any-return]  # NumPy's gap

    def insert(statement: int) -> int:
        failed: int = step(statement) - DONE
        reset(statement)
        return failed

    return shared_store(begin, bind, insert)
