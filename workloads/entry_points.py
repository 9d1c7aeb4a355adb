"""Reads the entry points of installed packages.

Reading takes milliseconds, so results are cached by group, `sys.path` and the modification times of its folders. An
installation changes a folder, so the new package is found. Only the next process finds an entry point that was edited
in place.
"""

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path


def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return all entry points of a group; several may share a name."""
    return _entry_points(group, tuple((folder, _change_time(folder)) for folder in sys.path))


@lru_cache(maxsize=64)
def _entry_points(group: str, _: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _change_time(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
