"""Where what a user keeps lies: datasets, runs, environments of engines.

One place for a user, whatever folder they stand in: `$XDG_DATA_HOME/lab`, else `~/.local/share/lab`
(XDG Base Directory Specification, 0.8). Who stands in a checkout of the lab works on the lab, and
has its datasets and runs there.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT_VARIABLE = "LAB_DATA"
RUNS_VARIABLE = "LAB_RUNS"
_MARKS = ("pyproject.toml", "lab/demo.toml", "workloads/suite")
"""What a checkout of the lab holds, and no other folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder, which need not exist, and why it is this one, in words."""

    path: Path
    why: str


_here: Path | None = None
"""Where a command began; None: places are seen from the current folder."""


@contextmanager
def seen_from(folder: Path) -> Iterator[None]:
    """See all places from a folder, wherever the process goes, until this is left."""
    global _here
    before, _here = _here, folder
    try:
        yield
    finally:
        _here = before


def here() -> Path:
    """Return the folder in which the command began; without a command, the current one."""
    return _here or Path.cwd()


def user_folder() -> Path:
    """Return the folder of all that the lab keeps for a user."""
    data = os.environ.get("XDG_DATA_HOME", "")
    # The specification has relative paths ignored.
    base = Path(data) if data.startswith("/") else Path.home() / ".local" / "share"
    return base / "lab"


def catalogue(folder: Path | None = None) -> Place:
    """Return where datasets lie, seen from a folder; None: from `here`."""
    return _place(ROOT_VARIABLE, "data", "data", folder)


def runs(folder: Path | None = None) -> Place:
    """Return where runs lie, seen from a folder; None: from `here`.

    A path in the checkout that one stands in is relative, for it is printed often.
    """
    return _place(RUNS_VARIABLE, "results/runs", "runs", folder)


def _place(variable: str, in_checkout: str, of_user: str, folder: Path | None) -> Place:
    given = os.environ.get(variable)
    if given:
        return Place(path=Path(given), why=f"${variable}")
    below = _checkout(here() if folder is None else folder.absolute())
    if below is None:
        return Place(path=user_folder() / of_user, why="the same from every folder")
    path = Path(in_checkout) if below == Path.cwd() else below / in_checkout
    return Place(path=path, why=f"in the lab's checkout {below}, where you stand")


def _checkout(here: Path) -> Path | None:
    """Return the checkout of the lab that a folder is, or is in; None: in none."""
    for folder in (here, *here.parents):
        if all((folder / mark).exists() for mark in _MARKS):
            return folder
    return None
