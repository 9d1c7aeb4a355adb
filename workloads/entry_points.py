"""What installed packages announce in entry points.

Reading all their records takes milliseconds and is asked for again and again, so it is done once
for each path and time of its folders. A package that is installed meanwhile is there, as that
changes the folder; one whose record is edited in place is not, before the next process.
"""

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path


def announced(group: str) -> tuple[EntryPoint, ...]:
    """Return what is announced in a group, several of one name if there are."""
    return _announced(group, tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=64)
def _announced(group: str, _: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
