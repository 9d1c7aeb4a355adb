"""Look-ups in DuckDB: one database, opened to be read, and a connection of it for each thread."""

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
    damaged,
    locked,
    per_thread,
    unreadable,
)
from streamlab.workloads.inputs.ads.databases.native import (
    ALIVE,
    WORD,
    WORD_BYTES,
    called,
    kept,
    system,
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
    with _opened(path) as database:
        try:
            rows, total = database.execute(COUNT)
        except DuckdbError as error:
            raise damaged(path, error) from error
    return rows, total


def _opened(path: Path) -> Database:
    configured = config(access_mode="READ_ONLY")
    try:
        return Database(path, configured)
    except DuckdbError as error:
        if "Could not set lock" in str(error):
            raise locked(path) from error
        raise unreadable(path, error) from error


@lru_cache(maxsize=8)
def _find(path: Path) -> Find:
    duckdb, database = library(), _opened(path)
    ALIVE.append(database)
    open_connection = called(duckdb, "duckdb_connect", 2)
    prepare = called(duckdb, "duckdb_prepare", 3)
    bind = called(duckdb, "duckdb_bind_int64", 3)
    execute = called(duckdb, "duckdb_execute_prepared", 2)
    row_count = called(duckdb, "duckdb_row_count", 1, WORD)
    value = called(duckdb, "duckdb_value_int64", 3, WORD)
    destroy_result = called(duckdb, "duckdb_destroy_result", 1, None)
    destroy_statement = called(duckdb, "duckdb_destroy_prepare", 1, None)
    disconnect = called(duckdb, "duckdb_disconnect", 1, None)
    allocate = called(system(), "calloc", 2, WORD)
    free = called(system(), "free", 1, None)
    copy = called(system(), "memcpy", 3, WORD)
    opened, select, word = database.address, kept(SELECT), WORD_BYTES
    words = 2 + RESULT_WORDS  # connection, statement, result

    def connect() -> int:
        mine = allocate(words, word)
        if mine == 0:
            return 0
        held = np.zeros(1, dtype=np.intp)
        if open_connection(opened, mine) == 0:
            copy(held.ctypes.data, mine, word)
            if prepare(held[0], select, mine + word) == 0:
                return mine  # type: ignore[no-any-return]  # of ctypes
        destroy_statement(mine + word)
        disconnect(mine)
        free(mine)
        return 0

    def ask(mine: int, of: int) -> int:
        statement, result = np.zeros(1, dtype=np.intp), mine + 2 * word
        copy(statement.ctypes.data, mine + word, word)
        bind(statement[0], 1, of)
        found = NONE
        if execute(statement[0], result) == 0 and row_count(result) != 0:
            found = value(result, 0, 0)
        destroy_result(result)
        return found

    def leave(mine: int) -> None:
        destroy_statement(mine + word)
        disconnect(mine)
        free(mine)

    return per_thread(connect, ask, leave)


DUCKDB = System(name=NAME, write=_write, count=_count, find=_find, error=DuckdbError)
