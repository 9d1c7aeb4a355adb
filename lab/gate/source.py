"""Finds the revisions that a gate compares, as commits, and checks them out.

What is compared is always a commit: of a working tree with changes a commit is made that no branch
knows, with fixed names and dates, so that equal content has the same hash and is built once.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.gate.errors import GateError
from streamlab.lab.host.git import GitError, git, git_bytes
from streamlab.lab.host.installation import SOURCE

_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "lab gate"), ("EMAIL", "gate@localhost"), ("DATE", "@0 +0000"))
}
_FILES_NOT_REFTABLE = {"GIT_DEFAULT_REF_FORMAT": "files"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit, and how it is called in the gate's output.

    Attributes:
        commit: its hash.
        shown: its name.
        changed: it was made for the gate, of a working tree with changes.
        left_out: the parts of the working tree that it lacks, a sentence each.
    """

    commit: str
    shown: str
    changed: bool = False
    left_out: tuple[str, ...] = ()


def checkout() -> Path:
    """Return the root of the checkout that this lab runs from.

    Raises:
        GateError: it runs from no checkout, or one stands in another repository.
    """
    try:
        git(SOURCE, "ls-files", "--error-unmatch", "lab/runner/provenance.py")
    except GitError as error:
        raise GateError(
            f"the lab's source, {SOURCE}, has no revisions to build ({error}); give --repo "
            "to gate a repository of your own, or run `lab gate --against` from a clone of the lab "
            "with an editable install (`make setup`)"
        ) from error
    root = Path(git(SOURCE, "rev-parse", "--show-toplevel"))
    here = None
    with suppress(GitError):
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
        commit = git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except GitError as error:
        shallow = git(repository, "rev-parse", "--is-shallow-repository") == "true"
        remedy = "; this clone is shallow: git fetch --unshallow" if shallow else ""
        raise GateError(
            f"--against {name!r} is no revision of {repository} ({error}){remedy}"
        ) from error
    shown = commit[:12] if commit.startswith(name) else f"{name} ({commit[:12]})"
    return Revision(commit=commit, shown=shown)


def working_tree(repository: Path) -> Revision:
    """Return the working tree as a commit: HEAD when it is clean, else one that is made for it.

    Files that git ignores are left out, and so are nested clones that are no submodules. Neither
    the index nor any branch is touched.

    Args:
        repository: its root.

    Raises:
        GitError: git cannot read it.
    """
    head = git(repository, "rev-parse", "--verify", "HEAD")
    left_out = (
        *left_out_clones(repository),
        *(
            f"changes inside the submodule {path} that are not committed there are in neither arm"
            for path in _changed_submodules(repository)
        ),
    )
    with tempfile.TemporaryDirectory(prefix="lab-gate-") as folder:
        index = Path(folder) / "index"
        env = {"GIT_INDEX_FILE": str(index), **_NOBODY}
        words = ["add", "--all"]
        if is_sparse(repository):
            # The index marks the files that a sparse checkout lacks; they are as in HEAD.
            shutil.copyfile(repository / git(repository, "rev-parse", "--git-path", "index"), index)
            words.append("--sparse")
        else:
            git(repository, "read-tree", head, env=env)
        rest = (f":(top,exclude,literal){path}" for path in _nested_clones(repository))
        git(repository, *words, "--", ":/", *rest, env=env)
        tree = git(repository, "write-tree", env=env)
        if tree == git(repository, "rev-parse", f"{head}^{{tree}}"):
            shown = f"working tree ({head[:12]})"
            return Revision(commit=head, shown=shown, left_out=left_out)
        commit = git(repository, "commit-tree", tree, "-p", head, "-m", "lab gate", env=env)
    shown = f"working tree ({head[:12]} with changes)"
    return Revision(commit=commit, shown=shown, changed=True, left_out=left_out)


def check_out(repository: Path, commit: str, folder: Path) -> None:
    """Check a commit out into a new repository that reads the objects of another one.

    Unlike in a worktree, nothing that is done in the folder (commits, branches, settings) reaches
    the other repository. All its references are there, and its settings hold: remotes, submodules
    that are initialised, filters. A sparse checkout's files are all there.

    Raises:
        GitError: git cannot do it.
    """
    own = folder / ".git"
    form = git(repository, "rev-parse", "--show-object-format")
    folder.mkdir(parents=True)
    words = ("init", "--quiet", "--template=", f"--object-format={form}")
    git(folder, *words, env=_FILES_NOT_REFTABLE)
    objects, shallow, settings = (
        repository / git(repository, "rev-parse", "--git-path", name)
        for name in ("objects", "shallow", "config")
    )
    (own / "objects" / "info").mkdir(exist_ok=True)
    (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(f"{objects.resolve()}\n"))
    references = git_bytes(repository, "for-each-ref", "--format=%(objectname) %(refname)")
    (own / "packed-refs").write_bytes(references)
    if shallow.exists():
        shutil.copyfile(shallow, own / "shallow")
    path = str(settings.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    with (own / "config").open("ab") as file:
        file.write(os.fsencode(f'[include]\n\tpath = "{path}"\n'))
        file.write(b"[core]\n\tbare = false\n\tsparseCheckout = false\n")
    git(folder, "checkout", "--quiet", "--detach", commit)


def left_out_clones(repository: Path) -> tuple[str, ...]:
    """Return a sentence for each nested clone that is in no commit of a working tree."""
    return tuple(
        f"the nested clone {path} is no submodule, and is in neither arm (git submodule add URL "
        f"{path})"
        for path in _nested_clones(repository)
    )


def _nested_clones(repository: Path) -> Sequence[str]:
    """Return the repositories in a working tree that neither it nor its .gitignore knows."""
    paths = git(repository, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    return [path.rstrip("/") for path in paths if path.endswith("/")]


def _changed_submodules(repository: Path) -> Sequence[str]:
    """Return the submodules whose own working trees have changes or files that are not ignored."""
    words = ("status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--untracked-files=no")
    found = []
    # Without locks, which would let it write the index anew.
    for entry in git(repository, *words, env={"GIT_OPTIONAL_LOCKS": "0"}).split("\0"):
        fields = entry.split(" ", 8)
        # "1 XY SCMU ...": C another commit, M changes, U files that nothing ignores.
        if fields[0] == "1" and fields[2].startswith("S") and fields[2][2:] != "..":
            found.append(fields[8])
    return found


def is_sparse(repository: Path) -> bool:
    """Return whether a repository's working tree has only some of its files."""
    with suppress(GitError):  # it is not set
        return git(repository, "config", "--type=bool", "core.sparseCheckout") == "true"
    return False
