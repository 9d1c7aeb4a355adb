"""A table in a SQLite database, looked up by compiled functions and by plain Python alike.

What programs call is a C function (by `ctypes`, which Numba calls without Python): a point query,
by a prepared statement, on a connection of the calling thread's own. It is SQLite's own library
that answers, so that the look-up costs what it costs an application in C.

The database is a file in the catalogue, beside the datasets:

    <root>/lookups/<table>-<hash of its values>.sqlite      lookup(id INTEGER PRIMARY KEY, value)

It is made when it is missing, compared with the table whenever a program is made, and opened as
immutable while it runs, so that nobody waits for a lock. What goes wrong from then on (no memory or
no file descriptor is left) is found as a wrong answer: an id without a value.
"""

import ctypes
import hashlib
import sqlite3
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workloads.inputs.ads.schema import NONE
from workloads.inputs.ads.sqlite import (
    ALIVE,
    NO_MUTEX,
    READ_ONLY,
    ROW,
    URI,
    WORD,
    called,
    kept,
    library,
    uri,
)
from workloads.model import ModelError
from workloads.places import catalogue

FOLDER = "lookups"

Table = npt.NDArray[np.int32]

_SELECT = b"SELECT value FROM lookup WHERE id = ?"
_LOCK_S = 1.0


def sqlite_lookup(name: str, table: Table) -> Callable[[int], int]:
    """Return what looks an id up in the database of a table; `NONE` for one that is not in it.

    Raises:
        ModelError: the database cannot be made or read, is locked, or does not hold the table, or
            there is no library of SQLite.
    """
    digest = hashlib.sha256(table.tobytes()).hexdigest()[:16]
    path = (catalogue().path / FOLDER / f"{name}-{digest}.sqlite").absolute()
    if not path.exists():
        _make(path, table)
    check(path, table)
    return _function(path)


def check(path: Path, table: Table) -> None:
    """Compare a database with the table that it is to hold.

    Raises:
        ModelError: it is locked or damaged, or holds another one.
    """
    remedy = f"remove {path}, and it is made anew"
    try:
        with _closing(uri(path, "mode=ro")) as database:
            (state,) = database.execute("PRAGMA quick_check").fetchone()
            found = database.execute("SELECT count(*), total(value) FROM lookup").fetchone()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) not in (5, 6):  # SQLITE_BUSY, SQLITE_LOCKED
            raise ModelError(f"database {path} cannot be read: {error}; {remedy}") from error
        raise ModelError(
            f"database {path} is locked: another process writes to it, which nothing of the lab "
            "does; end that process"
        ) from error
    except sqlite3.DatabaseError as error:
        raise ModelError(f"database {path} is damaged: {error}; {remedy}") from error
    if state != "ok" or found != (len(table), float(table.sum())):
        what = state if state != "ok" else "it does not hold the table that its name says"
        raise ModelError(f"database {path} is damaged: {what}; {remedy}")


def _make(path: Path, table: Table) -> None:
    """Write the database whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as folder:
            new = Path(folder) / path.name
            with _closing(uri(new, "mode=rwc")) as database:
                database.execute("CREATE TABLE lookup(id INTEGER PRIMARY KEY, value INTEGER)")
                rows = enumerate(table.tolist())
                database.executemany("INSERT INTO lookup VALUES (?, ?)", rows)
                database.commit()
            new.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise ModelError(
            f"database {path} cannot be made: {error}; give query parameter lookup=memory, or "
            "another catalogue (LAB_DATA)"
        ) from error


class _closing:  # noqa: N801, as in contextlib, whose own does not open
    """Opens a database and closes it, which its own `with` does not."""

    def __init__(self, opened: str) -> None:
        self._database = sqlite3.connect(opened, uri=True, timeout=_LOCK_S)

    def __enter__(self) -> sqlite3.Connection:
        return self._database

    def __exit__(self, *error: object) -> None:
        self._database.close()


@lru_cache(maxsize=8)
def _function(path: Path) -> Callable[[int], int]:
    """Return the compiled look-up for a database; what it points to lives as long as the process.

    A connection belongs to a thread, and is closed when the thread ends.
    """
    from numba import cfunc, types  # heavy

    sqlite, system = library(), ctypes.CDLL(None)
    open_v2 = called(sqlite, "sqlite3_open_v2", 4)
    prepare = called(sqlite, "sqlite3_prepare_v2", 5)
    bind = called(sqlite, "sqlite3_bind_int64", 3)
    step = called(sqlite, "sqlite3_step", 1)
    column = called(sqlite, "sqlite3_column_int64", 2, WORD)
    reset = called(sqlite, "sqlite3_reset", 1)
    database_of = called(sqlite, "sqlite3_db_handle", 1, WORD)
    finalize = called(sqlite, "sqlite3_finalize", 1)
    close = called(sqlite, "sqlite3_close", 1)
    get = called(system, "pthread_getspecific", 1, WORD)
    put = called(system, "pthread_setspecific", 2)

    name = kept(uri(path, "immutable=1").encode())
    select, flags = kept(_SELECT), READ_ONLY | URI | NO_MUTEX

    @cfunc(types.void(types.intp))
    def end(statement: int) -> None:
        database = database_of(statement)
        finalize(statement)
        close(database)

    key = ctypes.c_uint()
    if system.pthread_key_create(ctypes.byref(key), ctypes.c_void_p(end.address)):
        raise ModelError("this process has no room for another thread-local value")
    mine = int(key.value)

    @cfunc(types.int64(types.int64))
    def find(of: int) -> int:
        statement = get(mine)
        if statement == 0:
            opened = np.zeros(2, dtype=np.intp)
            at = opened.ctypes.data
            if open_v2(name, at, flags, 0) != 0:
                close(opened[0])
                return NONE
            if prepare(opened[0], select, -1, at + opened.itemsize, 0) != 0:
                close(opened[0])
                return NONE
            statement = opened[1]
            put(mine, statement)
        bind(statement, 1, of)
        found = NONE
        if step(statement) == ROW:
            found = column(statement, 0)
        reset(statement)
        return found

    ALIVE.append((end, find))
    function: Callable[[int], int] = find.ctypes
    return function
