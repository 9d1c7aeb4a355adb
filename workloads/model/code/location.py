"""Formats the location of code identically in every copy of the lab.

Compiled functions contain the locations that their errors name. With absolute paths, a cached kernel
of one clone would name wrong locations in another.
"""

from functools import lru_cache
from pathlib import Path

_HOME = Path(__file__).parents[4]
"""The folder that contains the lab's packages: a checkout, or `site-packages`."""


@lru_cache(maxsize=4096)
def display_path(file: str) -> str:
    """Return a file's path for error messages: relative to the lab's folder if inside it."""
    return Path(file).relative_to(_HOME).as_posix() if Path(file).is_relative_to(_HOME) else file
