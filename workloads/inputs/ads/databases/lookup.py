"""Looks up ids in a database table of SQLite, from compiled code and from plain Python.

Programs call a C function (through `ctypes`, which Numba calls without Python). It runs a prepared
point query on a connection of the calling thread, in SQLite's own library. A look-up therefore costs
the same as in a C application. Look-ups open the database as immutable, without locks.

The database is a file in the catalogue:

    <root>/lookups/<table>-<hash of its values>.sqlite    lookup(id INTEGER PRIMARY KEY, value)

The lab creates it if it is missing and compares it with the table whenever it makes a program.
Running programs only read it, so they never wait for a lock. A look-up that fails later (no memory
or file descriptor left) returns no value. The comparison with the oracle then reports a wrong answer.
"""

import ctypes
import hashlib
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.default_folders import catalogue
from streamlab.workloads.inputs.ads.databases.sqlite import (
    NAME,
    NO_MUTEX,
    READ_ONLY,
    ROW,
    URI,
    WORD,
    c_function,
    c_library,
    compile_c_function,
    library,
    pin_bytes,
    uri,
)
from streamlab.workloads.inputs.ads.schema import NONE
from streamlab.workloads.model import ModelError

FOLDER = "lookups"

Table = npt.NDArray[np.int32]
Find = Callable[[int], int]

_LOCK_S = 1.0
"""Time for which a connection waits for a lock."""


def look_up(name: str, table: Table) -> Find:
    """Return a function that looks up an id in the database of a table, or returns `NONE`.

    Raises:
        ModelError: see `table_database`; or SQLite's library is missing.
    """
    return _find(table_database(name, table))


def table_database(name: str, table: Table) -> Path:
    """Return the database of a table, and make it if it is missing.

    Raises:
        ModelError: the database cannot be made or read, is locked, or does not hold the table.
    """
    digest = hashlib.sha256(table.tobytes()).hexdigest()[:16]
    path = (catalogue().path / FOLDER / f"{name}-{digest}.{NAME}").absolute()
    if not path.exists():
        _make(path, table)
    if count(path) != (len(table), int(table.sum(dtype=np.int64))):
        raise _damaged_error(path, "its content differs from the table of its name")
    return path


def write(path: Path, table: Table) -> None:
    """Write the database of a table."""
    with closing(_open(path, "mode=rwc")) as database:
        database.execute("CREATE TABLE lookup(id INTEGER PRIMARY KEY, value INTEGER)")
        database.executemany("INSERT INTO lookup VALUES (?, ?)", enumerate(table.tolist()))
        database.commit()


def count(path: Path) -> tuple[int, int]:
    """Return a database's number of rows and the sum of its values.

    Raises:
        ModelError: the file is locked, damaged or no database.
    """
    try:
        with closing(_open(path, "mode=ro")) as database:
            (state,) = database.execute("PRAGMA quick_check").fetchone()
            rows, total = database.execute("SELECT count(*), sum(value) FROM lookup").fetchone()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) not in (5, 6):  # SQLITE_BUSY, SQLITE_LOCKED
            raise ModelError(f"database {path} cannot be read: {error}; {_remedy(path)}") from error
        raise ModelError(
            f"database {path} is locked: another process writes to it (not the lab); end that process"
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged_error(path, error) from error
    if state != "ok":
        raise _damaged_error(path, state)
    return rows, total


def _open(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(uri(path, options), uri=True, timeout=_LOCK_S)


def _damaged_error(path: Path, why: object) -> ModelError:
    return ModelError(f"database {path} is damaged: {why}; {_remedy(path)}")


def _remedy(path: Path) -> str:
    return f"remove {path}, and the lab makes it anew"


def _make(path: Path, table: Table) -> None:
    """Write the database atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as folder:
            new_path = Path(folder) / path.name
            write(new_path, table)
            new_path.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise ModelError(
            f"database {path} cannot be made: {error}; give query parameter lookup=memory, or "
            "another catalogue (LAB_DATA)"
        ) from error


@lru_cache(maxsize=8)
def _find(path: Path) -> Find:
    """Return a compiled look-up in a database; a connection is represented by its prepared statement."""
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
    select = pin_bytes(b"SELECT value FROM lookup WHERE id = ?")
    flags = READ_ONLY | URI | NO_MUTEX

    def connect() -> int:
        opened = np.zeros(2, dtype=np.intp)
        connection_address = opened.ctypes.data
        if open_v2(name, connection_address, flags, 0) != 0:
            close(opened[0])
            return 0
        if prepare(opened[0], select, -1, connection_address + opened.itemsize, 0) != 0:
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

    return _per_thread_lookup(connect, query, close_connection)


def _per_thread_lookup(
    connect: Callable[[], int], query: Callable[[int, int], int], close: Callable[[int], None]
) -> Find:
    """Return a compiled look-up with a connection for each thread.

    Args:
        connect: returns the address of a prepared statement on a new connection, or 0.
        query: returns the value of an id, from such a statement and the id.
        close: closes the statement and its connection; called when the thread ends.
    """
    from numba import njit  # heavy

    compiled_connect: Any = njit(connect)
    compiled_query: Any = njit(query)
    get = c_function(c_library(), "pthread_getspecific", 1, WORD)
    put = c_function(c_library(), "pthread_setspecific", 2)
    close_at_thread_end = compile_c_function(close, takes=1, has_result=False)
    key = ctypes.c_uint()
    if c_library().pthread_key_create(
        ctypes.byref(key), ctypes.c_void_p(close_at_thread_end.address)
    ):
        raise ModelError("this process cannot create another thread-local key; give lookup=memory")
    slot = int(key.value)

    def find(key: int) -> int:
        connection = get(slot)
        if connection == 0:
            connection = compiled_connect()
            if connection == 0:
                return NONE
            put(slot, connection)
        return compiled_query(connection, key)  # type: ignore[no-any-return]  # of Numba

    function: Find = compile_c_function(find, takes=1).ctypes
    return function
