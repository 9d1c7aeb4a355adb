"""Looks up ids and stores rows in DuckDB, by its C library from the separate environment of engine duckdb.

The library is the extension module of DuckDB's Python package, which exports the C interface, at
the engine's pinned version. Numba cannot call functions that take a structure by value, so results
are read by `duckdb_value_int64`, which takes a pointer.

- Look-ups: one read-only database, with a connection for each thread.
- Stored rows do not wait for the disk (`fsync_mode = NONE`). Those that are not yet in the database file
  when the process ends are in its log, `<file>.wal`. DuckDB reads both.
"""

import ctypes
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from streamlab.workloads.datasets import pa, pq
from streamlab.workloads.environments import command, folder, missing_message
from streamlab.workloads.inputs.ads.databases.c_functions import (
    ALIVE,
    WORD,
    WORD_BYTES,
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

NAME = "duckdb"
RESULT_WORDS = 6
"""Size of a `duckdb_result` in words."""
_NO_THREADS = {"threads": "1", "async_threads": "0"}
"""DuckDB runs in the calling threads; its own threads would take cores from the workers."""


class DuckdbError(ModelError):
    """An error of DuckDB; the message is the first line of DuckDB's message."""

    def __init__(self, message: bytes | None) -> None:
        first, _, _ = (message or b"").decode(errors="replace").partition("\n")
        super().__init__(first.rstrip("."))


@lru_cache(maxsize=1)
def library() -> Any:
    """Return DuckDB's library.

    Raises:
        ModelError: the engine's environment is missing, or belongs to another Python version.
    """
    missing = missing_message(NAME)
    path = folder(NAME) / f"_duckdb{sysconfig.get_config_var('EXT_SUFFIX')}"
    if missing is None and not path.exists():
        missing = (
            f"the environment of engine {NAME} has no {path.name}; {command(NAME)} makes it again"
        )
    if missing is not None:
        raise ModelError(f"{missing}; or give query parameter lookup=memory, persist=none")
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ModelError(
            f"DuckDB's library cannot be loaded: {error}; {command(NAME)} makes it again"
        ) from error


def config(**options: str) -> int:
    """Return the address of a configuration, which lives as long as the process.

    Raises:
        ModelError: as `library`.
        DuckdbError: DuckDB has no such option or value.
    """
    duckdb, configuration = library(), WORD()
    duckdb.duckdb_create_config(ctypes.byref(configuration))
    for name, value in {**_NO_THREADS, **options}.items():
        if duckdb.duckdb_set_config(configuration, name.encode(), value.encode()):
            raise DuckdbError(f"DuckDB refuses option {name}={value}".encode())
    return configuration.value


class Database:
    """An open database with a connection, for Python; `with` closes both.

    Raises:
        DuckdbError: the database cannot be opened.
    """

    def __init__(self, path: Path, configuration: int) -> None:
        self._library, self._database, self._connection = library(), WORD(), WORD()
        message = ctypes.c_char_p()
        if self._library.duckdb_open_ext(
            bytes(path), ctypes.byref(self._database), WORD(configuration), ctypes.byref(message)
        ):
            error = DuckdbError(message.value)
            self._library.duckdb_free(message)
            raise error
        self._library.duckdb_connect(self._database, ctypes.byref(self._connection))

    @property
    def address(self) -> int:
        """The `duckdb_database`."""
        return self._database.value

    def execute(self, statement: str) -> tuple[int, ...]:
        """Execute a statement and return the first row of its result, of whole numbers.

        Raises:
            DuckdbError: the statement failed.
        """
        result = (WORD * RESULT_WORDS)()
        at = ctypes.addressof(result)
        try:
            if self._library.duckdb_query(self._connection, statement.encode(), result):
                raise DuckdbError(
                    c_function(self._library, "duckdb_result_error", 1, ctypes.c_char_p)(at)
                )
            if c_function(self._library, "duckdb_row_count", 1, WORD)(at) == 0:
                return ()
            value = c_function(self._library, "duckdb_value_int64", 3, WORD)
            columns = c_function(self._library, "duckdb_column_count", 1, WORD)(at)
            return tuple(value(at, column, 0) for column in range(columns))
        finally:
            self._library.duckdb_destroy_result(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._library.duckdb_disconnect(ctypes.byref(self._connection))
        self._library.duckdb_close(ctypes.byref(self._database))


def _write(path: Path, table: Table) -> None:
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
