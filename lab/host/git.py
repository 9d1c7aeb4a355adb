"""Runs git, and builds an environment without git's repository variables for child processes.

In hooks, git sets variables that name a repository, and every git process below a hook obeys them in any folder.
Without this module, a lab that a hook started would read that repository, and the lab's builds would change it.
"""

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from streamlab.lab.errors import LabError

TIMEOUT_S = 300
"""Time limit of a git command, in seconds."""
_SETTINGS = (
    *("-c", f"core.hooksPath={os.devnull}"),  # hooks are for the user's own commands
    *("-c", "submodule.recurse=false"),
)


class GitError(LabError):
    """Git failed or is missing; the message has the folder and git's output."""


def environment() -> dict[str, str]:
    """Return this process's environment without the variables that name a repository to git."""
    try:
        local = _local_variables()
    except (OSError, subprocess.SubprocessError):  # without git, no process reads the variables
        local = frozenset()
    return {name: value for name, value in os.environ.items() if name not in local}


@cache
def _local_variables() -> frozenset[str]:
    """Return the variables that git calls local to a repository, and the one it sets while it receives a push."""
    command = ("git", "rev-parse", "--local-env-vars")
    names = subprocess.check_output(command, encoding="ascii", timeout=TIMEOUT_S).split()
    return frozenset({*names, "GIT_QUARANTINE_PATH"})


def git(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in a folder, without hooks, and return its output without trailing white space.

    `os.fsdecode` decodes the output; `os.fsencode` restores bytes that are not text.

    Raises:
        GitError: git failed or is missing.
    """
    return os.fsdecode(git_bytes(folder, *arguments, env=env)).rstrip()


def git_bytes(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> bytes:
    """Run git in a folder and return its output as bytes; arguments and errors as for `git`."""
    place = f"git {arguments[0]} in {folder}"
    try:
        process = subprocess.run(
            ["git", "-C", str(folder), *_SETTINGS, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
            env=environment() | dict(env or {}),
        )
    except FileNotFoundError as error:
        raise GitError(f"{place}: git is not on PATH; install it (apt-get install git)") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise GitError(f"{place}: {error}") from error
    if process.returncode != 0:
        words = " ".join((process.stderr or process.stdout).decode(errors="replace").split())
        raise GitError(f"{place}: {words or f'ended with code {process.returncode}'}")
    return process.stdout
