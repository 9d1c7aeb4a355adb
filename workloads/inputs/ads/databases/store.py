"""A table in a database that compiled functions write to, and plain Python alike.

    <catalogue>/persisted/<table>.<system>       <table>(<key> PRIMARY KEY, <columns>)

A row replaces the one of its key, in a transaction of its own, when it is kept. What is kept
outlives the process, but not the machine: the operating system is not waited for. The file is that
of the last run: the first row that a process keeps begins a new one, so that whoever only makes a
program leaves the results of the last one as they are. A row that cannot be kept, for want of room,
is told by the return value, and its database is not whole.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.default_folders import catalogue
from streamlab.workloads.inputs.ads.databases.native import (
    WORD,
    WORD_BYTES,
    called,
    compiled,
    kept,
    system,
)
from streamlab.workloads.model import ModelError

FOLDER = "persisted"

Keep = Callable[[int, int, int, int, int], int]
"""Keeps a row of five whole numbers, the first of which is the key; 0 when it has been."""
Columns = tuple[str, str, str, str, str]

_MUTEX_BYTES = 256
"""More than any system's `pthread_mutex_t`; zeroed it is a mutex that is free, on Linux."""


def stored(table: str, name: str) -> Path:
    """Return where the database of a table is, of a system, once a row has been kept."""
    return (catalogue().path / FOLDER / f"{table}.{name}").absolute()


def place(table: str, name: str) -> Path:
    """Return the same, in a folder that is there.

    Raises:
        ModelError: the folder cannot be made.
    """
    path = stored(table, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"{path.parent} cannot be made, in which results are to be kept: {error.strerror}; "
            "give query parameter persist=none, or another catalogue (LAB_DATA)"
        ) from error
    return path


def in_turn(begin: Callable[[], int], bind: Any, execute: Callable[[int], int]) -> Keep:
    """Return what keeps a row, compiled: one connection, which threads take in turn.

    Args:
        begin: begins a new database and returns the address of its statement, or 0.
        bind: the C function that sets a parameter of a statement: its number, from 1, and value.
        execute: executes the statement; returns 0 when the row is kept.
    """
    from numba import njit  # heavy

    beginning: Any = njit(begin)
    executing: Any = njit(execute)
    lock = called(system(), "pthread_mutex_lock", 1)
    unlock = called(system(), "pthread_mutex_unlock", 1)
    copy = called(system(), "memcpy", 3, WORD)
    mutex, statement_at, word = kept(bytes(_MUTEX_BYTES)), kept(bytes(WORD_BYTES)), WORD_BYTES

    def keep(a: int, b: int, c: int, d: int, e: int) -> int:
        lock(mutex)
        held = np.zeros(1, dtype=np.intp)
        copy(held.ctypes.data, statement_at, word)
        if held[0] == 0:
            held[0] = beginning()
            copy(statement_at, held.ctypes.data, word)
        failed = 1
        if held[0] != 0:
            bind(held[0], 1, a)
            bind(held[0], 2, b)
            bind(held[0], 3, c)
            bind(held[0], 4, d)
            bind(held[0], 5, e)
            failed = executing(held[0])
        unlock(mutex)
        return failed

    function: Keep = compiled(keep, takes=5).ctypes
    return function
