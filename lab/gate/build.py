"""Builds a revision as an arm in build/gate/<commit>, with a checkout and an unpacked wheel.

    tree/        the checkout; instructions are counted in it
    site/        `pip install --target` of the checkout, for trials to import
    cmake/       CMake's build folder
    cache/       code that the trials compile
    built.json   the toolchain; another compiler or Python causes a new build

The working tree is built the same way, because an editable install differs from a wheel in its
paths and imports.
"""

import fcntl
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import Arm, site_arm
from streamlab.lab.gate.source import Revision, check_out
from streamlab.lab.host.git import GitError, git
from streamlab.lab.isolate.process import Outcome, last_lines, run_isolated

Say = Callable[[str], None]

# A build on two cores takes half a minute; this is sixty times as long.
BUILD_TIMEOUT_S = 1800
_FLAG_VARIABLES = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_ARGS")
_FLAG_VARIABLE_PREFIX = "SKBUILD_"
_TOOLS = ("scikit-build-core", "nanobind", "cmake", "ninja")


def build_arm(repository: Path, revision: Revision, name: str, say: Say) -> Arm:
    """Return a revision as an arm; builds it unless an earlier build used the same tools."""
    with lock_revision(repository, revision):
        tree = source_tree(repository, revision)
        root = tree.parent
        tools = toolchain()
        stamp = root / "built.json"
        if _read_json(stamp) != tools:
            say(f"building {revision.label} in {root}")
            stamp.unlink(missing_ok=True)  # else an interrupted build would look complete
            _build(revision, root)
            stamp.write_text(json.dumps(tools, indent=1) + "\n", encoding="utf-8")
    return site_arm(name=name, revision=revision.label, folder=root / "site", tree=tree)


@contextmanager
def lock_revision(repository: Path, revision: Revision) -> Iterator[None]:
    """Lock a revision's build folder against other gates, within the block."""
    folder = repository / "build" / "gate"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{revision.commit}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        yield


def source_tree(repository: Path, revision: Revision) -> Path:
    """Return the checkout of a revision; check it out again if files are missing."""
    tree = repository / "build" / "gate" / revision.commit / "tree"
    if not _is_complete(tree):
        if tree.parent.exists():
            shutil.rmtree(tree.parent)
        check_out(repository, revision.commit, tree)
    return tree


def _is_complete(tree: Path) -> bool:
    """Return whether a checkout has all files of its commit; an interrupted git leaves fewer."""
    if not (tree / ".git").exists():
        return False
    try:
        return git(tree, "status", "--porcelain", "--untracked-files=no") == ""
    except GitError:
        return False


def toolchain() -> dict[str, object]:
    """Return the versions and flags that must be equal for comparable builds."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": compiler_version(),
        "flags": {
            name: value
            for name, value in sorted(os.environ.items())
            if name in _FLAG_VARIABLES or name.startswith(_FLAG_VARIABLE_PREFIX)
        },
        "tools": {name: _installed_version(name) for name in _TOOLS},
    }


def compiler_version() -> str:
    """Return the first line of the C++ compiler's --version; refuse a machine without a compiler."""
    compiler = os.environ.get("CXX") or "c++"
    # Split as CMake does: `CXX="ccache g++"` is two words.
    command = [*shlex.split(compiler), "--version"]
    try:
        process = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise GateError(
            f"no C++ compiler to build revisions: {compiler} --version: {error}; install one "
            "(apt-get install g++), or set CXX"
        ) from error
    return (process.stdout.splitlines() or [compiler])[0]


def build_path() -> str:
    """Return PATH with this environment's cmake and ninja first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def run_build(command: Sequence[str], *, log: Path, timeout_s: float) -> Outcome:
    """Run a build in isolation, so that an interrupt also ends compilers; build tools do not pass it on."""
    env = {"PATH": build_path(), "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return run_isolated(command, log=log, timeout_s=timeout_s, env=env)


def _build(revision: Revision, root: Path) -> None:
    """Install a revision's checkout into its `site` folder; raise a GateError if the build fails."""
    for part in ("site", "cmake", "cache"):
        if (root / part).exists():
            shutil.rmtree(root / part)
    log = root / "build.log"
    command = [
        *(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"),
        *("--no-index", "--target", str(root / "site")),
        *("--config-settings", f"build-dir={root / 'cmake'}", str(root / "tree")),
    ]
    log.write_text("", encoding="utf-8")
    outcome = run_build(command, log=log, timeout_s=BUILD_TIMEOUT_S)
    if outcome.timed_out:
        raise GateError(f"{revision.label} did not build in {BUILD_TIMEOUT_S} s: {log}")
    if outcome.returncode != 0:
        raise GateError(
            f"{revision.label} does not build (log: {log}): {' | '.join(last_lines(log, 3))}; the "
            "gate needs a compiler and the packages of `make setup`"
        )


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
