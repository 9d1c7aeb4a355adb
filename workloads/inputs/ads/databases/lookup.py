"""A table in a database, looked up by compiled functions and by plain Python alike.

What programs call is a C function (by `ctypes`, which Numba calls without Python): a point query,
by a prepared statement, on a connection of the calling thread's own. It is the database's own
library that answers, so that the look-up costs what it costs an application in C.

The database is a file in the catalogue, beside the datasets:

    <root>/lookups/<table>-<hash of its values>.<system>    lookup(id BIGINT PRIMARY KEY, value)

It is made when it is missing, compared with the table whenever a program is made, and only read
while it runs, so that nobody waits for a lock. What goes wrong from then on (no memory or no file
descriptor is left) is found as a wrong answer: an id without a value.
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
from streamlab.workloads.inputs.ads.databases.native import WORD, called, compiled, system
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
        name: by which it is asked for; files end with it.
        write: makes a database of a table.
        count: returns a database's number of rows and the sum of its values; raises `locked`,
            `unreadable` or `damaged`.
        find: returns what looks an id up in a database.
        error: what `write` raises.
    """

    name: str
    write: Callable[[Path, Table], None]
    count: Callable[[Path], tuple[int, int]]
    find: Callable[[Path], Find]
    error: type[Exception]


def look_up(of: System, name: str, table: Table) -> Find:
    """Return what looks an id up in the database of a table; `NONE` for one that is not in it.

    Raises:
        ModelError: the database cannot be made or read, is locked, or does not hold the table, or
            the system's library is not there.
    """
    digest = hashlib.sha256(table.tobytes()).hexdigest()[:16]
    path = (catalogue().path / FOLDER / f"{name}-{digest}.{of.name}").absolute()
    if not path.exists():
        _make(of, path, table)
    if of.count(path) != (len(table), int(table.sum(dtype=np.int64))):
        raise damaged(path, "it does not hold the table that its name says")
    return of.find(path)


def locked(path: Path) -> ModelError:
    """Return the error of a database that another process writes to."""
    return ModelError(
        f"database {path} is locked: another process writes to it, which nothing of the lab does; "
        "end that process"
    )


def unreadable(path: Path, why: object) -> ModelError:
    """Return the error of a file that is no database of this system."""
    return ModelError(f"database {path} cannot be read: {why}; {_remedy(path)}")


def damaged(path: Path, why: object) -> ModelError:
    """Return the error of a database that does not hold what it should."""
    return ModelError(f"database {path} is damaged: {why}; {_remedy(path)}")


def _remedy(path: Path) -> str:
    return f"remove {path}, and it is made anew"


def _make(of: System, path: Path, table: Table) -> None:
    """Write the database whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as folder:
            new = Path(folder) / path.name
            of.write(new, table)
            new.replace(path)
    except (OSError, of.error) as error:
        raise ModelError(
            f"database {path} cannot be made: {error}; give query parameter lookup=memory, or "
            "another catalogue (LAB_DATA)"
        ) from error


def per_thread(
    connect: Callable[[], int], ask: Callable[[int, int], int], leave: Callable[[int], None]
) -> Find:
    """Return a look-up, compiled, whose threads have connections of their own.

    Args:
        connect: returns the address of a connection, or 0.
        ask: given a connection and an id, returns its value.
        leave: ends a connection, when its thread ends.
    """
    from numba import njit  # heavy

    connecting: Any = njit(connect)
    asking: Any = njit(ask)
    get = called(system(), "pthread_getspecific", 1, WORD)
    put = called(system(), "pthread_setspecific", 2)
    end = compiled(leave, takes=1, gives=False)
    key = ctypes.c_uint()
    if system().pthread_key_create(ctypes.byref(key), ctypes.c_void_p(end.address)):
        raise ModelError("this process has no room for another thread-local value")
    mine = int(key.value)

    def find(of: int) -> int:
        connection = get(mine)
        if connection == 0:
            connection = connecting()
            if connection == 0:
                return NONE
            put(mine, connection)
        return asking(connection, of)  # type: ignore[no-any-return]  # of Numba

    function: Find = compiled(find, takes=1).ctypes
    return function
