"""Builds a revision as an arm: a checkout and a wheel of it, unpacked, below build/gate/<commit>.

    tree/        the checkout; instruction counts are made in it
    site/        `pip install --target` of it: what trials import
    cmake/       CMake's build folder
    cache/       what its trials compile
    built.json   what it was built with; another compiler or Python builds it again

Both arms are built this way, also the working tree: an editable install would differ from a wheel
in its paths and in its import machinery.
"""

import fcntl
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from streamlab.lab.gate.arm import Arm, site_arm
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.source import Revision, check_out
from streamlab.lab.host.git import GitError, git
from streamlab.lab.isolate.process import run_isolated

Say = Callable[[str], None]

# The core takes half a minute on two cores.
BUILD_TIMEOUT_S = 1800
_FLAGS = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_ARGS")
_FLAG_PREFIX = "SKBUILD_"
_TOOLS = ("scikit-build-core", "nanobind", "cmake", "ninja")


def build_arm(repository: Path, revision: Revision, name: str, say: Say) -> Arm:
    """Return a revision as an arm, built now unless it was built before with the same tools.

    Args:
        repository: the checkout; everything is made below its `build/gate`.
        revision: what to build.
        name: of the arm.
        say: is told what takes long.

    Raises:
        GateError: it does not build; the message names the log.
    """
    with lock_revision(repository, revision):
        tree = source_tree(repository, revision)
        root = tree.parent
        tools = toolchain()
        stamp = root / "built.json"
        if _read(stamp) != tools:
            say(f"building {revision.shown} in {root}")
            stamp.unlink(missing_ok=True)  # it would vouch for what a stopped build leaves
            _build(revision, root)
            stamp.write_text(json.dumps(tools, indent=1) + "\n", encoding="utf-8")
    return site_arm(name=name, revision=revision.shown, folder=root / "site", tree=tree)


@contextmanager
def lock_revision(repository: Path, revision: Revision) -> Iterator[None]:
    """Make other gates that build this revision here wait until the block ends."""
    folder = repository / "build" / "gate"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{revision.commit}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        yield


def source_tree(repository: Path, revision: Revision) -> Path:
    """Return the checkout of a revision, made now unless it is there.

    Raises:
        GateError: git cannot make it.
    """
    tree = repository / "build" / "gate" / revision.commit / "tree"
    if not _is_whole(tree):
        if tree.parent.exists():
            shutil.rmtree(tree.parent)
        check_out(repository, revision.commit, tree)
    return tree


def _is_whole(tree: Path) -> bool:
    """Return whether a checkout has all files of its commit: git may have been stopped half-way."""
    if not (tree / ".git").exists():
        return False
    try:
        return git(tree, "status", "--porcelain", "--untracked-files=no") == ""
    except GitError:
        return False


def toolchain() -> dict[str, Any]:
    """Return what must be equal for two builds to be comparable."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": compiler_version(),
        "flags": {
            name: value
            for name, value in sorted(os.environ.items())
            if name in _FLAGS or name.startswith(_FLAG_PREFIX)
        },
        "tools": {name: _version(name) for name in _TOOLS},
    }


def compiler_version() -> str:
    """Return the first line that the C++ compiler says of itself.

    Raises:
        GateError: there is none.
    """
    compiler = os.environ.get("CXX") or "c++"
    # `CXX="ccache g++"` is two words to CMake as well.
    command = [*shlex.split(compiler), "--version"]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise GateError(
            f"no C++ compiler to build revisions with: {compiler} --version: {error}; install one "
            "(apt-get install g++), or name it with CXX"
        ) from error
    return (done.stdout.splitlines() or [compiler])[0]


def build_path() -> str:
    """Return PATH with this environment's own cmake and ninja first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _build(revision: Revision, root: Path) -> None:
    for part in ("site", "cmake", "cache"):
        if (root / part).exists():
            shutil.rmtree(root / part)
    log = root / "build.log"
    command = [
        *(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"),
        *("--disable-pip-version-check", "--no-index", "--target", str(root / "site")),
        *("--config-settings", f"build-dir={root / 'cmake'}", str(root / "tree")),
    ]
    log.write_text("", encoding="utf-8")
    # Compilers are started by others, which do not pass an interrupt on: all of it is one tree.
    outcome = run_isolated(
        command,
        log=log,
        timeout_s=BUILD_TIMEOUT_S,
        env={"PATH": build_path(), "PIP_NO_INPUT": "1"},
    )
    if outcome.timed_out:
        raise GateError(f"{revision.shown} did not build in {BUILD_TIMEOUT_S} s: {log}")
    if outcome.returncode != 0:
        last = [line for line in log.read_text(encoding="utf-8").splitlines() if line.strip()][-3:]
        raise GateError(
            f"{revision.shown} does not build (the whole log: {log}): {' | '.join(last)}; the gate "
            "needs what `make setup` installs, and a compiler"
        )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
