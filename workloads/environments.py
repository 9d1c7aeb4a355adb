"""Locates the environments of engines: folders of packages, each with the versions its engine needs.

`engines/environment.py` creates them. A workload may use the packages of one.
"""

import os
import sys
from pathlib import Path

from streamlab.workloads.default_folders import user_folder

ROOT_VARIABLE = "LAB_ENGINES"
"""Environment variable: the folder of the environments, if not that of the lab's environment."""

STAMP = ".made"
"""A file that marks a complete environment and records what it was made from."""


def folder(name: str) -> Path:
    """Return the folder of an engine's environment, whether or not it exists."""
    return _root() / name


def _root() -> Path:
    setting = os.environ.get(ROOT_VARIABLE)
    if setting:
        return Path(setting).absolute()
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "engines"
    # The system's Python: its folders are not writable for the user.
    return user_folder() / "engines"


def command(name: str) -> str:
    """Return the command that makes the environment, as Markdown for messages."""
    return f"`lab environment {name}` (in a checkout: `make engine NAME={name}`)"


def missing_message(name: str) -> str | None:
    """Return a message with the command to run if an engine's environment is missing, else None."""
    if (folder(name) / STAMP).exists():
        return None
    return f"the environment of engine {name} is not made; {command(name)} makes it"
