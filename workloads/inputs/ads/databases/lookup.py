"""Looks up ids in a database table, from compiled code and from plain Python.

Programs call a C function (through `ctypes`, which Numba calls without Python). It runs a prepared
point query on a connection of the calling thread, in the database's own library. A look-up
therefore costs the same as in a C application.

The database is a file in the catalogue:

    <root>/lookups/<table>-<hash of its values>.<system>    lookup(id BIGINT PRIMARY KEY, value)

The lab creates it if it is missing and compares it with the table whenever it makes a program.
Running programs only read it, so they never wait for a lock. A look-up that fails later (no memory
or file descriptor left) returns no value, which the judge finds as a wrong answer.
"""

import ctypes
import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.default_folders import catalogue
from streamlab.workloads.inputs.ads.databases.c_functions import (
    WORD,
    c_function,
    c_library,
    compile_c_function,
)
from streamlab.workloads.inputs.ads.schema import NONE
from streamlab.workloads.model import ModelError

FOLDER = "lookups"

Table = npt.NDArray[np.int32]
Find = Callable[[int], int]

COUNT = "SELECT count(*), sum(value) FROM lookup"
SELECT = b"SELECT value FROM lookup WHERE id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A database system.

    Attributes:
        name: value of query parameter `lookup`, and suffix of files.
        write: creates a database from a table.
        count: returns a database's number of rows and the sum of its values; raises `locked_error`,
            `unreadable_error` or `damaged_error`.
        find: returns a function that looks up an id in a database.
        error: the exception that `write` raises.
    """

    name: str
    write: Callable[[Path, Table], None]
    count: Callable[[Path], tuple[int, int]]
    find: Callable[[Path], Find]
    error: type[Exception]


def look_up(database: System, name: str, table: Table) -> Find:
    """Return a function that looks up an id in the database of a table, or returns `NONE`.

    Raises:
        ModelError: the database cannot be made or read, is locked, or does not hold the table; or
            the system's library is missing.
    """
    digest = hashlib.sha256(table.tobytes()).hexdigest()[:16]
    path = (catalogue().path / FOLDER / f"{name}-{digest}.{database.name}").absolute()
    if not path.exists():
        _make(database, path, table)
    if database.count(path) != (len(table), int(table.sum(dtype=np.int64))):
        raise damaged_error(path, "its content differs from the table of its name")
    return database.find(path)


def locked_error(path: Path) -> ModelError:
    """Return the error of a database that another process writes to."""
    return ModelError(
        f"database {path} is locked: another process writes to it (not the lab); end that process"
    )


def unreadable_error(path: Path, why: object) -> ModelError:
    """Return the error of a file that is not a database of this system."""
    return ModelError(f"database {path} cannot be read: {why}; {_remedy(path)}")


def damaged_error(path: Path, why: object) -> ModelError:
    """Return the error of a database with wrong content."""
    return ModelError(f"database {path} is damaged: {why}; {_remedy(path)}")


def _remedy(path: Path) -> str:
    return f"remove {path}, and the lab makes it anew"


def _make(database: System, path: Path, table: Table) -> None:
    """Write the database atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as folder:
            new = Path(folder) / path.name
            database.write(new, table)
            new.replace(path)
    except (OSError, database.error) as error:
        raise ModelError(
            f"database {path} cannot be made: {error}; give query parameter lookup=memory, or "
            "another catalogue (LAB_DATA)"
        ) from error


def per_thread_lookup(
    connect: Callable[[], int], query: Callable[[int, int], int], close: Callable[[int], None]
) -> Find:
    """Return a compiled look-up with a connection for each thread.

    Args:
        connect: returns the address of a new connection, or 0.
        query: returns the value of an id, by a connection and the id.
        close: closes a connection; called when its thread ends.
    """
    from numba import njit  # heavy

    compiled_connect: Any = njit(connect)
    compiled_query: Any = njit(query)
    get = c_function(c_library(), "pthread_getspecific", 1, WORD)
    put = c_function(c_library(), "pthread_setspecific", 2)
    end = compile_c_function(close, takes=1, gives=False)
    key = ctypes.c_uint()
    if c_library().pthread_key_create(ctypes.byref(key), ctypes.c_void_p(end.address)):
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
