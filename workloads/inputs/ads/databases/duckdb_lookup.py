"""Looks up ids in DuckDB: one read-only database, with a connection for each thread."""

import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from streamlab.workloads.inputs.ads.databases.duckdb import (
    NAME,
    RESULT_WORDS,
    Database,
    DuckdbError,
    config,
    library,
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
from streamlab.workloads.inputs.ads.databases.native import (
    ALIVE,
    WORD,
    WORD_BYTES,
    c_function,
    c_library,
    pin_bytes,
)
from streamlab.workloads.inputs.ads.schema import NONE


def _write(path: Path, table: Table) -> None:
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    ids = np.arange(len(table), dtype=np.int64)
    with tempfile.TemporaryDirectory() as folder, Database(path, config()) as database:
        rows = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({"id": ids, "value": table}), rows)
        database.execute("CREATE TABLE lookup(id BIGINT PRIMARY KEY, value INTEGER)")
        quoted = str(rows).replace("'", "''")
        database.execute(f"INSERT INTO lookup SELECT id, value FROM read_parquet('{quoted}')")
        database.execute("CHECKPOINT")


def _count(path: Path) -> tuple[int, int]:
    with _open(path) as database:
        try:
            rows, total = database.execute(COUNT)
        except DuckdbError as error:
            raise damaged_error(path, error) from error
    return rows, total


def _open(path: Path) -> Database:
    configuration = config(access_mode="READ_ONLY")
    try:
        return Database(path, configuration)
    except DuckdbError as error:
        if "Could not set lock" in str(error):
            raise locked_error(path) from error
        raise unreadable_error(path, error) from error


@lru_cache(maxsize=8)
def _find(path: Path) -> Find:
    duckdb, database = library(), _open(path)
    ALIVE.append(database)
    open_connection = c_function(duckdb, "duckdb_connect", 2)
    prepare = c_function(duckdb, "duckdb_prepare", 3)
    bind = c_function(duckdb, "duckdb_bind_int64", 3)
    execute = c_function(duckdb, "duckdb_execute_prepared", 2)
    row_count = c_function(duckdb, "duckdb_row_count", 1, WORD)
    value = c_function(duckdb, "duckdb_value_int64", 3, WORD)
    destroy_result = c_function(duckdb, "duckdb_destroy_result", 1, None)
    destroy_statement = c_function(duckdb, "duckdb_destroy_prepare", 1, None)
    disconnect = c_function(duckdb, "duckdb_disconnect", 1, None)
    allocate = c_function(c_library(), "calloc", 2, WORD)
    free = c_function(c_library(), "free", 1, None)
    copy = c_function(c_library(), "memcpy", 3, WORD)
    address, select, word = database.address, pin_bytes(SELECT), WORD_BYTES
    words = 2 + RESULT_WORDS  # connection, statement, result

    def connect() -> int:
        block = allocate(words, word)
        if block == 0:
            return 0
        connection = np.zeros(1, dtype=np.intp)
        if open_connection(address, block) == 0:
            copy(connection.ctypes.data, block, word)
            if prepare(connection[0], select, block + word) == 0:
                return block  # type: ignore[no-any-return]  # of ctypes
        destroy_statement(block + word)
        disconnect(block)
        free(block)
        return 0

    def query(block: int, key: int) -> int:
        statement, result = np.zeros(1, dtype=np.intp), block + 2 * word
        copy(statement.ctypes.data, block + word, word)
        bind(statement[0], 1, key)
        answer = NONE
        if execute(statement[0], result) == 0 and row_count(result) != 0:
            answer = value(result, 0, 0)
        destroy_result(result)
        return answer

    def close(block: int) -> None:
        destroy_statement(block + word)
        disconnect(block)
        free(block)

    return per_thread_lookup(connect, query, close)


DUCKDB = System(name=NAME, write=_write, count=_count, find=_find, error=DuckdbError)
