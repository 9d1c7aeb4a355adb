"""Stores rows in DuckDB, without waiting for the disk (`fsync_mode = NONE`).

Rows that are not yet in the database file when the process ends are in its log, `<file>.wal`.
DuckDB reads both.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from streamlab.workloads.inputs.ads.databases.duckdb import NAME, RESULT_WORDS, config, library
from streamlab.workloads.inputs.ads.databases.native import (
    WORD_BYTES,
    c_function,
    c_library,
    pin_bytes,
)
from streamlab.workloads.inputs.ads.databases.store import (
    Columns,
    StoreRow,
    prepare_database,
    shared_store,
)


def duckdb_store(table: str, columns: Columns) -> StoreRow:
    """Return a function that stores a row in the DuckDB database of a table.

    Raises:
        ModelError: the folder cannot be made, or engine duckdb's environment is missing.
    """
    return _store(prepare_database(table, NAME), table, columns)


@lru_cache(maxsize=8)
def _store(path: Path, table: str, columns: Columns) -> StoreRow:
    duckdb = library()
    open_ext = c_function(duckdb, "duckdb_open_ext", 4)
    connect = c_function(duckdb, "duckdb_connect", 2)
    query = c_function(duckdb, "duckdb_query", 3)
    prepare = c_function(duckdb, "duckdb_prepare", 3)
    bind = c_function(duckdb, "duckdb_bind_int64", 3)
    execute = c_function(duckdb, "duckdb_execute_prepared", 2)
    destroy_result = c_function(duckdb, "duckdb_destroy_result", 1, None)
    disconnect = c_function(duckdb, "duckdb_disconnect", 1, None)
    close = c_function(duckdb, "duckdb_close", 1, None)
    unlink = c_function(c_library(), "unlink", 1)

    key, *rest = (f'"{column}" BIGINT' for column in columns)
    file, log = pin_bytes(bytes(path)), pin_bytes(bytes(path) + b".wal")
    create = pin_bytes(f"CREATE TABLE {table}({key} PRIMARY KEY, {', '.join(rest)})".encode())
    replace = pin_bytes(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)".encode())
    configuration, word = config(fsync_mode="NONE"), WORD_BYTES
    result = pin_bytes(bytes(RESULT_WORDS * word))

    def begin() -> int:
        unlink(file)
        unlink(log)
        opened = np.zeros(3, dtype=np.intp)  # database, connection, statement
        at = opened.ctypes.data
        failed = open_ext(file, at, configuration, 0)
        if failed == 0:
            failed = connect(opened[0], at + word)
        if failed == 0:
            failed = query(opened[1], create, 0)
        if failed == 0:
            failed = prepare(opened[1], replace, at + 2 * word)
        if failed != 0:
            disconnect(at + word)
            close(at)
            return 0
        return opened[2]  # type: ignore[no-any-return]  # NumPy's gap

    def insert(statement: int) -> int:
        failed: int = execute(statement, result)
        destroy_result(result)
        return failed

    return shared_store(begin, bind, insert)
