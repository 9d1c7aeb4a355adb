"""Finds the revisions that a gate compares, as commits, and checks them out.

A working tree with changes becomes a commit on no branch.
Its author and date are fixed, so that equal content has the same hash and is built only once.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.host.git import GitError, git, git_bytes
from streamlab.lab.host.installation import SOURCE

_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "lab gate"), ("EMAIL", "gate@localhost"), ("DATE", "@0 +0000"))
}
_FILES_NOT_REFTABLE = {"GIT_DEFAULT_REF_FORMAT": "files"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit, and its name in the gate's output.

    Attributes:
        changed: whether the commit was made for the gate, from a working tree with changes.
        left_out: sentences on parts of the working tree that the commit lacks.
    """

    commit: str
    label: str
    changed: bool = False
    left_out: tuple[str, ...] = ()


def find_checkout() -> Path:
    """Return the root of the checkout that this lab runs from; refuse a call from another repository."""
    try:
        git(SOURCE, "ls-files", "--error-unmatch", "lab/runner/provenance.py")
    except GitError as error:
        raise GateError(
            f"the lab's source, {SOURCE}, has no revisions to build ({error}); use --repo to gate "
            "your own repository, or run `lab gate --against` in a clone of the lab with an "
            "editable install (`make setup`)"
        ) from error
    root = Path(git(SOURCE, "rev-parse", "--show-toplevel"))
    current_root = None
    with suppress(GitError):
        current_root = Path(git(Path.cwd(), "rev-parse", "--show-toplevel"))
    if current_root not in (None, root):
        raise GateError(
            f"{current_root} is not the lab's source, {root}: use --repo {current_root} to gate this repository, "
            f"or run the gate of the lab in {root}"
        )
    return root


def resolve(repository: Path, name: str) -> Revision:
    """Return the commit of a revision's name; refuse an unknown name."""
    try:
        commit = git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except GitError as error:
        shallow = git(repository, "rev-parse", "--is-shallow-repository") == "true"
        remedy = "; this clone is shallow: git fetch --unshallow" if shallow else ""
        raise GateError(
            f"--against {name!r} is not a revision of {repository} ({error}){remedy}"
        ) from error
    label = commit[:12] if commit.startswith(name) else f"{name} ({commit[:12]})"
    return Revision(commit=commit, label=label)


def commit_working_tree(repository: Path) -> Revision:
    """Return the working tree as a commit: HEAD if it is clean, else a new commit.

    The commit lacks ignored files and nested clones that are not submodules. The index and the
    branches stay as they are.

    Raises:
        GitError: git cannot read the repository.
    """
    head = git(repository, "rev-parse", "--verify", "HEAD")
    left_out = (
        *left_out_clones(repository),
        *(
            f"uncommitted changes in the submodule {path} are in neither arm"
            for path in _changed_submodules(repository)
        ),
    )
    with tempfile.TemporaryDirectory(prefix="lab-gate-") as folder:
        index = Path(folder) / "index"
        env = {"GIT_INDEX_FILE": str(index), **_IDENTITY}
        words = ["add", "--all"]
        if _is_sparse(repository):
            # The index marks the files that a sparse checkout lacks; the commit has these files as in HEAD.
            shutil.copyfile(repository / git(repository, "rev-parse", "--git-path", "index"), index)
            words.append("--sparse")
        else:
            git(repository, "read-tree", head, env=env)
        exclusions = (f":(top,exclude,literal){path}" for path in _nested_clones(repository))
        git(repository, *words, "--", ":/", *exclusions, env=env)
        tree = git(repository, "write-tree", env=env)
        if tree == git(repository, "rev-parse", f"{head}^{{tree}}"):
            label = f"working tree ({head[:12]})"
            return Revision(commit=head, label=label, left_out=left_out)
        commit = git(repository, "commit-tree", tree, "-p", head, "-m", "lab gate", env=env)
    label = f"working tree ({head[:12]} with changes)"
    return Revision(commit=commit, label=label, changed=True, left_out=left_out)


def check_out(repository: Path, commit: str, folder: Path) -> None:
    """Check out a commit into a new repository, which reads the objects of `repository`.

    Unlike a worktree, the new repository keeps its own commits, branches and settings. It starts with
    the references and settings (remotes, submodules, filters) of `repository`. It has all files, even if
    `repository` is a sparse checkout.

    Raises:
        GitError: git failed.
    """
    git_folder = folder / ".git"
    object_format = git(repository, "rev-parse", "--show-object-format")
    folder.mkdir(parents=True)
    words = ("init", "--quiet", "--template=", f"--object-format={object_format}")
    git(folder, *words, env=_FILES_NOT_REFTABLE)
    objects, shallow, settings = (
        repository / git(repository, "rev-parse", "--git-path", name)
        for name in ("objects", "shallow", "config")
    )
    (git_folder / "objects" / "info").mkdir(exist_ok=True)
    (git_folder / "objects" / "info" / "alternates").write_bytes(
        os.fsencode(f"{objects.resolve()}\n")
    )
    references = git_bytes(repository, "for-each-ref", "--format=%(objectname) %(refname)")
    (git_folder / "packed-refs").write_bytes(references)
    if shallow.exists():
        shutil.copyfile(shallow, git_folder / "shallow")
    path = str(settings.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    with (git_folder / "config").open("ab") as file:
        file.write(os.fsencode(f'[include]\n\tpath = "{path}"\n'))
        file.write(b"[core]\n\tbare = false\n\tsparseCheckout = false\n")
    git(folder, "checkout", "--quiet", "--detach", commit)


def left_out_clones(repository: Path) -> tuple[str, ...]:
    """Return a sentence for each nested clone; a commit of the working tree lacks nested clones."""
    return tuple(
        f"the nested clone {path} is not a submodule, and is in neither arm (git submodule add "
        f"URL {path})"
        for path in _nested_clones(repository)
    )


def _nested_clones(repository: Path) -> Sequence[str]:
    """Return the repositories in a working tree that are neither tracked nor ignored."""
    paths = git(repository, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    return [path.rstrip("/") for path in paths if path.endswith("/")]


def _changed_submodules(repository: Path) -> Sequence[str]:
    """Return the submodules whose working trees have changes or untracked files."""
    words = ("status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--untracked-files=no")
    submodules = []
    # Run git without optional locks, so that it does not write the index.
    for entry in git(repository, *words, env={"GIT_OPTIONAL_LOCKS": "0"}).split("\0"):
        fields = entry.split(" ", 8)
        # "1 XY SCMU ...": C another commit, M changes, U untracked files.
        if fields[0] == "1" and fields[2].startswith("S") and fields[2][2:] != "..":
            submodules.append(fields[8])
    return submodules


def _is_sparse(repository: Path) -> bool:
    """Return whether a repository is a sparse checkout, with only some of its files."""
    with suppress(GitError):  # the setting is missing
        return git(repository, "config", "--type=bool", "core.sparseCheckout") == "true"
    return False
