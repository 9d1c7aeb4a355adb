"""Finds the revisions that a gate compares, as commits of this checkout.

What is compared is always a commit: of a working tree with changes a commit is made that no branch
knows, with fixed names and dates, so that equal content has the same hash and is built once.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.gate.errors import GateError
from lab.parent.host import SOURCE

_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "lab gate"), ("EMAIL", "gate@localhost"), ("DATE", "@0 +0000"))
}

_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Set where git has called the lab from a hook; they would count more than the folder given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit, and how it is called in the gate's output.

    Attributes:
        commit: its hash.
        shown: its name.
        changed: it was made for the gate, of a working tree with changes.
    """

    commit: str
    shown: str
    changed: bool = False


def checkout() -> Path:
    """Return the root of the checkout that this lab runs from.

    Raises:
        GateError: it runs from no checkout, or one stands in another repository.
    """
    try:
        git(SOURCE, "ls-files", "--error-unmatch", "lab/parent/host.py")
    except GateError as error:
        raise GateError(
            f"{SOURCE} is no checkout, so the lab has no revisions to build ({error}); give --repo "
            "to gate a repository of your own, or run `lab gate --against` from a clone of the lab "
            "with an editable install (`make setup`)"
        ) from error
    root = Path(git(SOURCE, "rev-parse", "--show-toplevel"))
    here = None
    with suppress(GateError):
        here = Path(git(Path.cwd(), "rev-parse", "--show-toplevel"))
    if here not in (None, root):
        raise GateError(
            f"{here} is not the lab's source, {root}, whose revisions would be built: give --repo "
            f"{here} to gate this repository, or run the gate of the lab in {root}"
        )
    return root


def resolve(repository: Path, name: str) -> Revision:
    """Return the commit that a name stands for.

    Raises:
        GateError: there is none.
    """
    try:
        commit = git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GateError as error:
        raise GateError(
            f"--against {name!r} is no revision of {repository}; in a shallow clone, fetch it first"
        ) from error
    shown = commit[:12] if commit.startswith(name) else f"{name} ({commit[:12]})"
    return Revision(commit=commit, shown=shown)


def working_tree(repository: Path) -> Revision:
    """Return the working tree as a commit: HEAD when it is clean, else one that is made for it.

    Files that git ignores are left out. Neither the index nor any branch is touched.
    """
    head = git(repository, "rev-parse", "HEAD")
    with tempfile.TemporaryDirectory(prefix="lab-gate-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index"), **_NOBODY}
        git(repository, "read-tree", head, env=env)
        git(repository, "add", "--all", "--", ":/", env=env)
        tree = git(repository, "write-tree", env=env)
        if tree == git(repository, "rev-parse", f"{head}^{{tree}}"):
            return Revision(commit=head, shown=f"working tree ({head[:12]})")
        commit = git(repository, "commit-tree", tree, "-p", head, "-m", "lab gate", env=env)
    return Revision(commit=commit, shown=f"working tree ({head[:12]} with changes)", changed=True)


def git(place: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in a folder and return what it prints.

    Raises:
        GateError: it failed; the message has its words.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(place), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            env={name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
            | dict(env or {}),
        )
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip() or f"code {error.returncode}"
        raise GateError(f"git {arguments[0]} in {place}: {said}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise GateError(f"git {arguments[0]} in {place}: {error}") from error
    return done.stdout.strip()
