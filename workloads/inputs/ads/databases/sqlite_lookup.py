"""Looks up ids in SQLite; the database is opened as immutable, without locks."""

import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import numpy as np

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
from streamlab.workloads.inputs.ads.databases.native import WORD, c_function, pin_bytes
from streamlab.workloads.inputs.ads.databases.sqlite import (
    NO_MUTEX,
    READ_ONLY,
    ROW,
    URI,
    library,
    uri,
)
from streamlab.workloads.inputs.ads.schema import NONE

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
