"""Makes and activates engine environments: folders of packages at the versions that an engine needs.

One command makes an environment from a lock file, once. A trial puts the folder first on its module search path,
before it imports the engine. The packages are for the lab's interpreter; the folder is inside the lab's environment.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from streamlab.engines.errors import EngineError
from streamlab.workloads.default_folders import ENGINES_VARIABLE, user_folder

STAMP = ".made"
"""A file that marks a complete environment and records its sources."""


def folder(name: str) -> Path:
    """Return the folder of an engine's environment; the folder may not exist."""
    return _root() / name


def _root() -> Path:
    setting = os.environ.get(ENGINES_VARIABLE)
    if setting:
        return Path(setting).absolute()
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "engines"
    # The system's Python: its folders are not writable for the user.
    return user_folder() / "engines"


def command(name: str) -> str:
    """Return the command that makes the environment, as Markdown for messages."""
    return f"`lab environment {name}` (in a checkout: `make engine NAME={name}`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Describes how to make an engine's environment.

    Attributes:
        lock: a file with every package at an exact version; nothing else is installed. It is a requirements file, a
            Maven pom.xml, whose jars go to the folder `jars`, or a file that `build` reads.
        further: locks to install after the first.
        jars: a file with SHA-256 and name of each jar of a pom.xml; the pom.xml names direct dependencies only.
        installs: whether the lab installs the packages of the lock; if False, `build` installs them.
        check: raises EngineError, with a remedy, if the machine lacks a program that `build` needs.
        inputs: further input files; when one changes, the environment must be made again.
        build: called with the folder after the installation, e.g. to compile; raises EngineError with a remedy.
    """

    lock: Path
    further: tuple[Path, ...] = ()
    jars: Path | None = None
    installs: bool = True
    check: Callable[[], object] | None = None
    inputs: tuple[Path, ...] = ()
    build: Callable[[Path], None] | None = None


def declared_environment(engine: object) -> Environment | None:
    """Return the environment that an adapter declares; None if the lab's packages suffice."""
    declared = getattr(engine, "environment", None)
    return declared if isinstance(declared, Environment) else None


def unusable_reason(name: str, environment: Environment) -> str | None:
    """Return why an engine's environment is unusable, with the command to make it; None if it is usable."""
    try:
        current = _fingerprint(name, environment)
    except EngineError as error:
        return str(error)
    if not (folder(name) / STAMP).exists():
        missing = f"the environment of engine {name} does not exist; {command(name)} makes it"
        return f"{missing}{_missing_tools(environment)}"
    stored_stamp = (folder(name) / STAMP).read_text(encoding="utf-8")
    if stored_stamp != current:
        return (
            f"the environment of engine {name} is out of date: it was made for another Python, or "
            f"{environment.lock} or one of its inputs has changed; {command(name)} makes it again"
        )
    return None


def _missing_tools(environment: Environment) -> str:
    """Return the tools that the machine lacks to make an environment, as the end of a message."""
    try:
        if environment.check is not None:
            environment.check()
    except EngineError as error:
        return f"; {error}"
    return ""


def activate(name: str) -> None:
    """Put an engine's environment, if it exists, first on this process's module search path."""
    path = str(folder(name))
    if path not in sys.path and (folder(name) / STAMP).exists():
        sys.path.insert(0, path)


def versions(name: str, packages: tuple[str, ...]) -> str:
    """Return `package version` for each package, preferring the engine's environment; `-` if not installed."""
    engine_path = [str(folder(name))] if (folder(name) / STAMP).exists() else []
    path = [*engine_path, *sys.path]
    installed = (next(iter(distributions(name=package, path=path)), None) for package in packages)
    return ", ".join(
        f"{package} {'-' if distribution is None else distribution.version}"
        for package, distribution in zip(packages, installed, strict=True)
    )


def make(name: str, environment: Environment) -> Path:
    """Make or remake an environment and return its folder; needs the package index.

    Raises:
        EngineError: the packages cannot be installed or built.
    """
    fingerprint = _fingerprint(name, environment)
    path = folder(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}.partial-", dir=path.parent) as staging:
        partial = Path(staging) / name
        partial.mkdir()
        if environment.installs:
            for lock in (environment.lock, *environment.further):
                _install(name, lock, partial)
        if environment.jars is not None:
            _check_jars(name, environment.jars, partial / "jars")
        if environment.build is not None:
            environment.build(partial)
        (partial / STAMP).write_text(fingerprint, encoding="utf-8")
        with suppress(FileNotFoundError):
            path.rename(Path(staging) / "previous")
        partial.rename(path)
    return path


def _install(name: str, lock: Path, target: Path) -> None:
    install = _maven_command if lock.suffix == ".xml" else _pip_command
    failure = run_program(install(name, lock, target))
    if failure is not None:
        raise EngineError(
            f"cannot make the environment of engine {name} from {lock}: {failure}; "
            f"check that the package index is reachable, then run {command(name)} again"
        )


def run_program(arguments: Sequence[str], environ: Mapping[str, str] | None = None) -> str | None:
    """Run a program of the set-up; return the last lines of its output if it fails, else None."""
    result = subprocess.run(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=environ,
    )
    return " | ".join(result.stdout.strip().splitlines()[-5:]) if result.returncode else None


def _check_jars(name: str, lock: Path, folder: Path) -> None:
    """Raise EngineError unless a folder has exactly the jars of a lock."""
    lines = lock.read_text(encoding="utf-8").splitlines()
    locked_digests = {jar: digest for digest, jar in map(str.split, lines)}
    actual = {
        jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar")
    }
    wrong = sorted(
        jar for jar in {*locked_digests, *actual} if locked_digests.get(jar) != actual.get(jar)
    )
    if wrong:
        raise EngineError(
            f"the jars of the environment of engine {name} are not those of {lock}: "
            f"{', '.join(wrong[:5])}; check the files that the Maven registry serves, then run {command(name)} again"
        )


def _inputs(environment: Environment) -> tuple[Path, ...]:
    jars = () if environment.jars is None else (environment.jars,)
    return (environment.lock, *environment.further, *jars, *environment.inputs)


def _pip_command(name: str, lock: Path, target: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
        *("--no-deps", "--target", str(target), "--requirement", str(lock)),
    ]


def _maven_command(name: str, lock: Path, target: Path) -> list[str]:
    maven = shutil.which("mvn")
    if maven is None:
        raise EngineError(
            f"found no mvn on PATH to install the jars of engine {name}; install Maven (Debian: "
            f"apt-get install maven), then run {command(name)} again"
        )
    return [
        *(maven, "--batch-mode", "--quiet", "--file", str(lock), "dependency:copy-dependencies"),
        f"-DoutputDirectory={target / 'jars'}",
    ]


def _fingerprint(name: str, environment: Environment) -> str:
    """Return a text that changes when the environment must be made again."""
    digest = hashlib.sha256()
    for path in _inputs(environment):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise EngineError(
                f"the environment of engine {name} needs {path}, which cannot be read "
                f"({error.strerror}); install the engine again"
            ) from error
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return f"{sysconfig.get_config_var('EXT_SUFFIX')} {digest.hexdigest()}\n"
