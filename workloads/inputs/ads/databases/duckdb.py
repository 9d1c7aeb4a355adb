"""DuckDB's C library: the one in the environment of its own that engine duckdb has.

That is the extension module of DuckDB's Python package, which exports the C interface, at the
version that the engine is pinned to. Functions that take a structure by value are left alone: Numba
cannot call them, and results are read by `duckdb_value_int64`, which takes a pointer.
"""

import ctypes
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from streamlab.workloads.environments import command, folder, missing_message
from streamlab.workloads.inputs.ads.databases.native import WORD, called
from streamlab.workloads.model import ModelError

NAME = "duckdb"
RESULT_WORDS = 6
"""Of a `duckdb_result`."""
_ALONE = {"threads": "1", "async_threads": "0"}
"""DuckDB works in the threads that ask: threads of its own would take cores from the workers."""


class DuckdbError(ModelError):
    """DuckDB refused; the message is the first line of its own."""

    def __init__(self, said: bytes | None) -> None:
        first, _, _ = (said or b"").decode(errors="replace").partition("\n")
        super().__init__(first.rstrip("."))


@lru_cache(maxsize=1)
def library() -> Any:
    """Return DuckDB's library.

    Raises:
        ModelError: the engine's environment is not made, or for another Python.
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
    """Return a configuration, which lives as long as the process.

    Raises:
        ModelError: as `library`.
        DuckdbError: there is no such option.
    """
    duckdb, made = library(), WORD()
    duckdb.duckdb_create_config(ctypes.byref(made))
    for name, value in {**_ALONE, **options}.items():
        if duckdb.duckdb_set_config(made, name.encode(), value.encode()):
            raise DuckdbError(f"there is no option {name}={value}".encode())
    return made.value


class Database:
    """An open database with a connection, for Python; `with` closes both.

    Args:
        path: of the file.
        configured: by `config`.

    Raises:
        DuckdbError: it cannot be opened.
    """

    def __init__(self, path: Path, configured: int) -> None:
        self._library, self._database, self._connection = library(), WORD(), WORD()
        said = ctypes.c_char_p()
        if self._library.duckdb_open_ext(
            bytes(path), ctypes.byref(self._database), WORD(configured), ctypes.byref(said)
        ):
            error = DuckdbError(said.value)
            self._library.duckdb_free(said)
            raise error
        self._library.duckdb_connect(self._database, ctypes.byref(self._connection))

    @property
    def address(self) -> int:
        """The `duckdb_database`."""
        return self._database.value

    def execute(self, statement: str) -> tuple[int, ...]:
        """Execute a statement, and return the first row of what it answers, of whole numbers.

        Raises:
            DuckdbError: it failed.
        """
        result = (WORD * RESULT_WORDS)()
        at = ctypes.addressof(result)
        try:
            if self._library.duckdb_query(self._connection, statement.encode(), result):
                said = called(self._library, "duckdb_result_error", 1, ctypes.c_char_p)(at)
                raise DuckdbError(said)
            if called(self._library, "duckdb_row_count", 1, WORD)(at) == 0:
                return ()
            value = called(self._library, "duckdb_value_int64", 3, WORD)
            columns = called(self._library, "duckdb_column_count", 1, WORD)(at)
            return tuple(value(at, column, 0) for column in range(columns))
        finally:
            self._library.duckdb_destroy_result(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._library.duckdb_disconnect(ctypes.byref(self._connection))
        self._library.duckdb_close(ctypes.byref(self._database))
