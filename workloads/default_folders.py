"""Locates the default folders of a user's files: datasets, runs, environments of engines, caches.

Data are in `$XDG_DATA_HOME/lab`, otherwise in `~/.local/share/lab`, whatever the current folder is (XDG Base Directory
Specification, 0.8). In a checkout of the lab, the defaults are the checkout's own datasets and runs.

Without a home folder, data have no default folder, and an error names the variables to set; caches are in a private
temporary folder. All other code uses this module, not HOME.
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
"""The variable with the folder of datasets."""
RUNS_VARIABLE = "LAB_RUNS"
"""The variable with the folder of runs."""
CACHE_VARIABLE = "LAB_CACHE"
"""The variable with the folder of caches."""
SHARED_VARIABLE = "LAB_SHARED"
"""The variable with a folder that all nodes of a cluster see under one path: the default for datasets and trials."""
CLUSTERS_VARIABLE = "LAB_CLUSTERS"
"""The variable with the folder of clusters that `lab cluster` starts."""
ENGINES_VARIABLE = "LAB_ENGINES"
"""The variable with the folder of engines' environments."""
_TOOLS = {"MPLCONFIGDIR": "matplotlib", "NUMBA_CACHE_DIR": "numba"}
"""Variables of libraries with caches in the home folder, and the folders in the lab's cache that replace these."""
_MARKS = ("pyproject.toml", "lab/demo.toml", "workloads/suite")
"""Paths that together identify a checkout of the lab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder, which need not exist.

    Attributes:
        path: the folder.
        why: why it was chosen, in words.
    """

    path: Path
    why: str


_start_folder: ContextVar[Path | None] = ContextVar("start_folder", default=None)
"""The folder in which a command began; None means the current folder.

A plain variable would be part of the fingerprint of each workload that reads this module.
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
            f"{home_state} and user {os.getuid()} has no home folder, so there is no default folder; set "
            f"HOME to an absolute path, or {ROOT_VARIABLE} (datasets) and {RUNS_VARIABLE} (runs)"
        )
    return home / ".local" / "share" / "lab"


def cache_folder() -> Path:
    """Return the folder of the lab's caches, such as compiled kernels.

    It is the first of these that this user, but no other user, can write:

    1. LAB_CACHE; here other users may write too
    2. `$XDG_CACHE_HOME/stream-lab`, otherwise `~/.cache/stream-lab`, if LAB_CACHE is not set
    3. `lab-<user id>` among the temporary files
    4. a new temporary folder
    """
    setting = os.environ.get(CACHE_VARIABLE)
    preferred = Path(setting).absolute() if setting else _user_cache()
    if preferred is not None and _is_usable(preferred, may_be_shared=bool(setting)):
        return preferred
    temporary = Path(tempfile.gettempdir()) / f"lab-{os.getuid()}"
    return temporary if _is_usable(temporary) else _new_cache()


def set_cache_variables() -> str | None:
    """Set cache variables for libraries and child processes if the home folder cannot be written.

    Child processes have private temporary folders, so their default cache would be empty each time.
    Return a warning if LAB_CACHE cannot be written, otherwise None.
    """
    default = _user_cache()
    is_homeless = default is None or not _is_usable(default)
    if not is_homeless and CACHE_VARIABLE not in os.environ:
        return None
    setting = os.environ.get(CACHE_VARIABLE)
    try:
        cache = cache_folder()
    except OSError:  # no temporary folder: a command that needs one fails later
        return None
    os.environ[CACHE_VARIABLE] = str(cache)
    for name, subfolder in _TOOLS.items() if is_homeless else ():
        os.environ.setdefault(name, str(cache / subfolder))
    if setting and cache != Path(setting).absolute():
        return f"{CACHE_VARIABLE}={setting} cannot be written; caches are in {cache}"
    return None


def _user_cache() -> Path | None:
    """Return the user's default folder of caches; None without a home folder."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if cache.startswith("/"):
        return Path(cache) / "stream-lab"
    home = home_folder()
    return None if home is None else home / ".cache" / "stream-lab"


def _is_usable(folder: Path, *, may_be_shared: bool = False) -> bool:
    """Create a folder; return whether this user can write to it, and no other user unless `may_be_shared`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        link, info = folder.lstat(), folder.stat()
    except OSError:
        return False
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    # The lab executes code from its cache, so another user's link or file would run as this user.
    is_owned = link.st_uid == info.st_uid == os.getuid()
    return may_be_shared or (is_owned and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


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

    In the folder of a checkout the path is relative, because it is printed often.
    """
    return _choose_folder(RUNS_VARIABLE, "results/runs", "runs", folder)


def clusters() -> Path:
    """Return the folder of clusters that `lab cluster` starts."""
    return _choose_folder(CLUSTERS_VARIABLE, "results/clusters", "clusters", None).path.absolute()


def _choose_folder(variable: str, in_checkout: str, of_user: str, folder: Path | None) -> Place:
    """Return the folder that a variable names, else the one in the checkout around `folder`, else the user's."""
    setting = os.environ.get(variable)
    if setting:
        return Place(path=Path(setting), why=f"${variable}")
    checkout = _find_checkout(start_folder() if folder is None else folder.absolute())
    if checkout is None:
        return Place(path=user_folder() / of_user, why="the same from every folder")
    path = Path(in_checkout) if checkout == Path.cwd() else checkout / in_checkout
    return Place(path=path, why=f"in the lab's checkout {checkout}, which has the current folder")


def _find_checkout(folder: Path) -> Path | None:
    """Return the checkout of the lab that contains a folder; None if there is none."""
    for candidate in (folder, *folder.parents):
        if all((candidate / mark).exists() for mark in _MARKS):
            return candidate
    return None
