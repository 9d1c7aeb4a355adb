"""Loads DuckDB's C library from the separate environment of engine duckdb.

The library is the extension module of DuckDB's Python package, which exports the C interface, at
the engine's pin_bytes version. Numba cannot call functions that take a structure by value, so results
are read by `duckdb_value_int64`, which takes a pointer.
"""

import ctypes
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from streamlab.workloads.environments import command, folder, missing_message
from streamlab.workloads.inputs.ads.databases.native import WORD, c_function
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

    Args:
        path: path of the file.
        configuration: address from `config`.

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
