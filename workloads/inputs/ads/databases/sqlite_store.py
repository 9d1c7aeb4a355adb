"""Stores rows in SQLite, without waiting for the disk (`synchronous = OFF`)."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from streamlab.workloads.inputs.ads.databases.native import c_function, c_library, pin_bytes
from streamlab.workloads.inputs.ads.databases.sqlite import (
    CREATE,
    DONE,
    NO_MUTEX,
    READ_WRITE,
    URI,
    library,
    uri,
)
from streamlab.workloads.inputs.ads.databases.store import (
    Columns,
    StoreRow,
    prepare_database,
    shared_store,
)


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
