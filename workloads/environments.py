"""Where the environments of engines lie: folders of packages, each at versions of its engine's own.

What they are made of, and how, is the engines' affair (`engines/environment.py`). A workload may
use what is in one.
"""

import os
import sys
from pathlib import Path

from streamlab.workloads.default_folders import user_folder

ROOT_VARIABLE = "LAB_ENGINES"
"""Where environments lie, if not below that of the lab."""

STAMP = ".made"
"""A file in an environment that is whole: what it was made from."""


def folder(name: str) -> Path:
    """Return where the environment of an engine lies, made or not."""
    return _root() / name


def _root() -> Path:
    given = os.environ.get(ROOT_VARIABLE)
    if given:
        return Path(given).absolute()
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "engines"
    # The system's Python: its folders are not the user's.
    return user_folder() / "engines"


def command(name: str) -> str:
    """Return the command that makes it, for people."""
    return f"`lab environment {name}` (in a checkout: `make engine NAME={name}`)"


def not_made(name: str) -> str | None:
    """Return that an engine's environment is not made, with the command; None: it is."""
    if (folder(name) / STAMP).exists():
        return None
    return f"the environment of engine {name} is not made; {command(name)} makes it"
