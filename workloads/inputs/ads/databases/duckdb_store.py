"""Stores rows in DuckDB, without waiting for the disk (`fsync_mode = NONE`).

Rows that are not yet in the database file when the process ends are in its log, `<file>.wal`.
DuckDB reads both.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from streamlab.workloads.inputs.ads.databases.duckdb import NAME, RESULT_WORDS, config, library
from streamlab.workloads.inputs.ads.databases.native import WORD_BYTES, called, kept, system
from streamlab.workloads.inputs.ads.databases.store import Columns, Keep, in_turn, place


def duckdb_store(table: str, columns: Columns) -> Keep:
    """Return a function that stores a row in the DuckDB database of a table.

    Raises:
        ModelError: the folder cannot be made, or engine duckdb's environment is missing.
    """
    return _keep(place(table, NAME), table, columns)


@lru_cache(maxsize=8)
def _keep(path: Path, table: str, columns: Columns) -> Keep:
    duckdb = library()
    open_ext = called(duckdb, "duckdb_open_ext", 4)
    connect = called(duckdb, "duckdb_connect", 2)
    query = called(duckdb, "duckdb_query", 3)
    prepare = called(duckdb, "duckdb_prepare", 3)
    bind = called(duckdb, "duckdb_bind_int64", 3)
    execute = called(duckdb, "duckdb_execute_prepared", 2)
    destroy_result = called(duckdb, "duckdb_destroy_result", 1, None)
    disconnect = called(duckdb, "duckdb_disconnect", 1, None)
    close = called(duckdb, "duckdb_close", 1, None)
    unlink = called(system(), "unlink", 1)

    key, *rest = (f'"{column}" BIGINT' for column in columns)
    file, log = kept(bytes(path)), kept(bytes(path) + b".wal")
    create = kept(f"CREATE TABLE {table}({key} PRIMARY KEY, {', '.join(rest)})".encode())
    replace = kept(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)".encode())
    configuration, word = config(fsync_mode="NONE"), WORD_BYTES
    result = kept(bytes(RESULT_WORDS * word))

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

    return in_turn(begin, bind, insert)
