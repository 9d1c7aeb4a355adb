"""Locates the default folders of a user's files: datasets, runs, environments of engines, caches.

Data lie in `$XDG_DATA_HOME/lab`, else `~/.local/share/lab`, whatever the current folder is (XDG
Base Directory Specification, 0.8). A checkout of the lab defaults to its own datasets and runs.

Without a home folder, data has no default and an error names the variables to set.
Caches then lie in a private temporary folder. All other code uses this module, not HOME.
"""

import os
import pwd
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache as memoize
from pathlib import Path

from streamlab.workloads.datasets.errors import DatasetError

ROOT_VARIABLE = "LAB_DATA"
RUNS_VARIABLE = "LAB_RUNS"
CACHE_VARIABLE = "LAB_CACHE"
SHARED_VARIABLE = "LAB_SHARED"
"""Names a folder that all nodes of a cluster see under one path; datasets and files of trials default to it."""
CLUSTERS_VARIABLE = "LAB_CLUSTERS"
ENGINES_VARIABLE = "LAB_ENGINES"
"""Names the folder of engines' environments, if not that of the lab's environment."""
_TOOLS = {"MPLCONFIGDIR": "matplotlib", "NUMBA_CACHE_DIR": "numba"}
"""Environment variables of libraries with caches in the home folder, and their folders in the lab's cache."""
_MARKS = ("pyproject.toml", "lab/demo.toml", "workloads/suite")
"""Paths that together identify a checkout of the lab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder, which need not exist, and the reason for choosing it, in words."""

    path: Path
    why: str


_start_folder: ContextVar[Path | None] = ContextVar("start_folder", default=None)
"""The folder where a command began; None: the current folder.

Not a plain variable: its value would belong to the fingerprint of each workload that reads this module.
"""


@contextmanager
def resolve_from(folder: Path) -> Iterator[None]:
    """Resolve default folders from `folder` within the block, even if the process changes directory."""
    token = _start_folder.set(folder)
    try:
        yield
    finally:
        _start_folder.reset(token)


def start_folder() -> Path:
    """Return the folder in which the command began; outside a command, the current folder."""
    return _start_folder.get() or Path.cwd()


def home_folder() -> Path | None:
    """Return the user's home folder, from HOME or the password database; None if the user has none."""
    home = os.environ.get("HOME", "")
    if not home:
        with suppress(KeyError):  # a container's user may have no entry
            home = pwd.getpwuid(os.getuid()).pw_dir
    return Path(home) if home.startswith("/") else None


def user_folder() -> Path:
    """Return the folder of all files that the lab stores for a user.

    Raises:
        DatasetError: the user has no home folder.
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    if data.startswith("/"):  # the specification ignores relative paths
        return Path(data) / "lab"
    home = home_folder()
    if home is None:
        home_state = (
            f"HOME is {os.environ['HOME']!r}" if os.environ.get("HOME") else "HOME is not set"
        )
        raise DatasetError(
            f"{home_state} and user {os.getuid()} has no home folder, so there is no default place; set "
            f"HOME to an absolute path, or {ROOT_VARIABLE} (datasets) and {RUNS_VARIABLE} (runs)"
        )
    return home / ".local" / "share" / "lab"


def cache_folder() -> Path:
    """Return the folder of the lab's caches, such as compiled kernels.

    The first of these that only this user can write: LAB_CACHE (which may be shared),
    `$XDG_CACHE_HOME/stream-lab`, else `~/.cache/stream-lab`, `lab-<user id>` among the temporary
    files, a new temporary folder.
    """
    setting = os.environ.get(CACHE_VARIABLE)
    preferred = Path(setting).absolute() if setting else _user_cache()
    if preferred is not None and _usable(preferred, shared=bool(setting)):
        return preferred
    temporary = Path(tempfile.gettempdir()) / f"lab-{os.getuid()}"
    return temporary if _usable(temporary) else _new_cache()


def set_cache_variables() -> str | None:
    """Set cache variables for libraries and child processes if the home folder cannot be written.

    Child processes have private temporary folders, so their default cache would be empty each time.
    Return a warning if LAB_CACHE cannot be written.
    """
    usual = _user_cache()
    homeless = usual is None or not _usable(usual)
    if not homeless and CACHE_VARIABLE not in os.environ:
        return None
    setting = os.environ.get(CACHE_VARIABLE)
    try:
        cache = cache_folder()
    except OSError:  # no temporary folder: a command fails later, where it needs one
        return None
    os.environ[CACHE_VARIABLE] = str(cache)
    for name, below in _TOOLS.items() if homeless else ():
        os.environ.setdefault(name, str(cache / below))
    if setting and cache != Path(setting).absolute():
        return f"{CACHE_VARIABLE}={setting} cannot be written; caches lie in {cache}"
    return None


def _user_cache() -> Path | None:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if cache.startswith("/"):
        return Path(cache) / "stream-lab"
    home = home_folder()
    return None if home is None else home / ".cache" / "stream-lab"


def _usable(folder: Path, *, shared: bool = False) -> bool:
    """Create a folder; return whether this user can write there, and no other user unless shared."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        link, info = folder.lstat(), folder.stat()
    except OSError:
        return False
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    # The lab executes code from its cache: another user's link or file would run as this user.
    owned = link.st_uid == info.st_uid == os.getuid()
    return shared or (owned and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


@memoize
def _new_cache() -> Path:
    return Path(tempfile.mkdtemp(prefix="lab-cache-"))


def check_text(path: Path) -> None:
    """Check that a folder's path is valid text, as Parquet libraries require.

    Raises:
        DatasetError: the path has bytes that are not UTF-8 or not text in this locale.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DatasetError(
            f"{path}: this path has bytes that are not text in {sys.getfilesystemencoding()}, so "
            f"Parquet files cannot be written there; name another folder with {ROOT_VARIABLE} "
            f"(datasets) or {RUNS_VARIABLE} (runs), or set LC_ALL=C.UTF-8 if the bytes are UTF-8"
        ) from error


def catalogue(folder: Path | None = None) -> Place:
    """Return the folder of datasets for a command started in `folder` (None: `start_folder()`)."""
    shared = os.environ.get(SHARED_VARIABLE)
    if shared and not os.environ.get(ROOT_VARIABLE):
        return Place(path=Path(shared) / "data", why=f"${SHARED_VARIABLE}")
    return _choose_folder(ROOT_VARIABLE, "data", "data", folder)


def runs(folder: Path | None = None) -> Place:
    """Return the folder of runs for a command started in `folder` (None: `start_folder()`).

    Inside a checkout the path is relative, because it is printed often.
    """
    return _choose_folder(RUNS_VARIABLE, "results/runs", "runs", folder)


def clusters() -> Path:
    """Return the folder of clusters that `lab cluster` starts."""
    return _choose_folder(CLUSTERS_VARIABLE, "results/clusters", "clusters", None).path.absolute()


def _choose_folder(variable: str, in_checkout: str, of_user: str, folder: Path | None) -> Place:
    setting = os.environ.get(variable)
    if setting:
        return Place(path=Path(setting), why=f"${variable}")
    below = _checkout(start_folder() if folder is None else folder.absolute())
    if below is None:
        return Place(path=user_folder() / of_user, why="the same from every folder")
    path = Path(in_checkout) if below == Path.cwd() else below / in_checkout
    return Place(path=path, why=f"in the lab's checkout {below}, where you stand")


def _checkout(here: Path) -> Path | None:
    """Return the checkout of the lab that contains a folder; None if outside."""
    for folder in (here, *here.parents):
        if all((folder / mark).exists() for mark in _MARKS):
            return folder
    return None
