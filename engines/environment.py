"""The environment of its own that an engine may have: a folder of packages at versions of its own.

Made once by one command, from a lock; a trial puts it first on the module search path of its
process, before anything of the engine is imported. It lies below the environment of the lab, whose
interpreter its packages are for.
"""

import errno
import hashlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from itertools import count
from pathlib import Path

from streamlab.engines.errors import EngineError
from streamlab.workloads.environments import ROOT_VARIABLE, STAMP, command, folder, missing_message

__all__ = [
    "ROOT_VARIABLE",
    "Environment",
    "activate",
    "command",
    "folder",
    "lacking",
    "make",
    "versions",
    "wanted_by",
]


ABANDONED_S = 24 * 3600.0
"""Making an environment takes minutes; a staging folder of that age belongs to a killed process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What an engine's environment is made of.

    Attributes:
        lock: a requirements file with every package, at an exact version; nothing else is
            installed.
        inputs: further files that it is made from; when one changes, it must be made again.
        build: what is done after the installation, given the folder (to compile something);
            raises EngineError with the remedy when it cannot.
    """

    lock: Path
    inputs: tuple[Path, ...] = ()
    build: Callable[[Path], None] | None = None


def wanted_by(engine: object) -> Environment | None:
    """Return what an adapter declares as its environment; None: it needs none of its own."""
    found = getattr(engine, "environment", None)
    return found if isinstance(found, Environment) else None


def lacking(name: str, environment: Environment) -> str | None:
    """Return why an engine's environment cannot be used, with the command; None: it can."""
    try:
        wanted = _made_from(name, environment)
    except EngineError as error:
        return str(error)
    missing = missing_message(name)
    if missing is not None:
        return missing
    made_from = (folder(name) / STAMP).read_text(encoding="utf-8")
    if made_from != wanted:
        return (
            f"the environment of engine {name} was made for another Python, or from other files "
            f"than {environment.lock} and what belongs to it; {command(name)} makes it again"
        )
    return None


def activate(name: str) -> None:
    """Let this process find the packages of an engine's environment first, if it is made."""
    path = str(folder(name))
    if path not in sys.path and (folder(name) / STAMP).exists():
        sys.path.insert(0, path)


def versions(name: str, packages: tuple[str, ...]) -> str:
    """Return `package version` of some packages, from the engine's environment if it has them."""
    own = [str(folder(name))] if (folder(name) / STAMP).exists() else []
    found = (next(iter(distributions(name=one, path=[*own, *sys.path])), None) for one in packages)
    return ", ".join(
        f"{package} {'-' if one is None else one.version}"
        for package, one in zip(packages, found, strict=True)
    )


def make(name: str, environment: Environment) -> Path:
    """Make the environment, or make it again, and return its folder; whole or not at all.

    Needs the package index, once.

    Raises:
        EngineError: a file that it is made from is not there, a package cannot be installed, or
            what is built afterwards failed.
    """
    made_from = _made_from(name, environment)
    path = folder(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path)
    # A private folder: another process may be making the same environment.
    with tempfile.TemporaryDirectory(prefix=f"{name}.partial-", dir=path.parent) as staging:
        partial = Path(staging) / name
        partial.mkdir()
        _install(name, environment.lock, partial)
        if environment.build is not None:
            environment.build(partial)
        (partial / STAMP).write_text(made_from, encoding="utf-8")
        _put(partial, path, Path(staging))
    return path


def _remove_abandoned(path: Path) -> None:
    """Remove what processes that were killed while they made this environment have left."""
    for left in path.parent.glob(f"{path.name}.partial-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > ABANDONED_S:
                shutil.rmtree(left, ignore_errors=True)


def _put(partial: Path, path: Path, staging: Path) -> None:
    """Move a folder to its place; an older one moves to the staging folder and is removed with it.

    Another process may put its own folder there in between; the last one stays.
    """
    for number in count():
        with suppress(FileNotFoundError):
            path.rename(staging / f"before-{number}")
        try:
            partial.rename(path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return


def _install(name: str, lock: Path, target: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
            *("--no-deps", "--target", str(target), "--requirement", str(lock)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = " | ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        raise EngineError(
            f"the environment of engine {name} cannot be made from {lock}: {said}; "
            f"is the package index reachable? then {command(name)} again"
        )


def _made_from(name: str, environment: Environment) -> str:
    """Return what decides over an engine's environment, as text."""
    digest = hashlib.sha256()
    for path in (environment.lock, *environment.inputs):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise EngineError(
                f"the environment of engine {name} is made from {path}, which cannot be read "
                f"({error.strerror}); install the engine again"
            ) from error
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return f"{sysconfig.get_config_var('EXT_SUFFIX')} {digest.hexdigest()}\n"
