"""Says where code stands, alike in every copy of the lab.

Compiled functions hold the places that their errors name. With the whole path in them, a kernel of
one clone would be another's only with an untrue place.
"""

from functools import lru_cache
from pathlib import Path

_HOME = Path(__file__).parents[2]
"""The folder that the lab's packages are in: a checkout, or what packages are installed in."""


@lru_cache(maxsize=4096)
def shown_file(file: str) -> str:
    """Return a file's path as errors name it: from the lab's folder where it lies below that."""
    return Path(file).relative_to(_HOME).as_posix() if Path(file).is_relative_to(_HOME) else file
