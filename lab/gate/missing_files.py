"""Finds what a checked-out revision lacks, and names the remedy: submodules, files of Git LFS."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from streamlab.lab.gate.source import is_sparse, left_out_clones
from streamlab.lab.host.git import GitError, git
from streamlab.workloads.datasets.imports.raw_files import LFS_POINTER, is_lfs_pointer

_LINK = "160000"
"""The mode of an entry that is a commit of another repository."""
_MOST_NAMED = 3
_SPARSE = (
    "{} is a sparse checkout: a file that the matrix names may lie outside of it (git "
    "sparse-checkout add FOLDER)"
)


def find_gaps(tree: Path, checkout: Path | None) -> tuple[str, ...]:
    """Return what a revision's files lack, a sentence each, with the remedy.

    The result explains a failure. Where git cannot read the folders, it is empty.

    Args:
        tree: the checkout of an arm, after its build.
        checkout: the user's checkout of the repository.
    """
    try:
        clones = () if checkout is None else left_out_clones(checkout)
        sparse = checkout is not None and is_sparse(checkout)
        own = (*_submodules(tree), *_pointers(tree))
    except GitError:
        return ()
    return (*own, *clones, *([_SPARSE.format(checkout)] if sparse else ()))


def _submodules(tree: Path, folder: str = "", option: str = "") -> Iterator[str]:
    entries = git(tree, "ls-files", "--stage", "-z").split("\0")
    links = [entry.partition("\t")[2] for entry in entries if entry.startswith(f"{_LINK} ")]
    if not links:
        return
    known = ""
    with suppress(GitError):  # no such file, or an empty one
        words = ("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        known = git(tree, *words)
    paths = {line.partition(" ")[2] for line in known.splitlines()}
    for path in links:
        name = f"{folder}{path}"
        if (tree / path / ".git").exists():
            yield from _submodules(tree / path, f"{name}/", " --recursive")
        elif (tree / path).is_dir() and any((tree / path).iterdir()):
            continue  # a build has put it there
        elif path in paths:
            yield (
                f"the submodule {name} is not checked out: have --build begin with "
                f"`git submodule update --init{option} &&`"
            )
        else:
            yield (
                f"{name} is a nested clone of which only the commit's number is known: make it a "
                f"submodule (git rm --cached {path}; git submodule add URL {path}), or commit its "
                "files"
            )


def _pointers(tree: Path) -> Iterator[str]:
    found: list[str] = []
    with suppress(GitError):  # no match
        words = (
            "grep",
            "--no-color",
            "-I",
            "-l",
            "-z",
            "--fixed-strings",
            "-e",
            LFS_POINTER.decode(),
        )
        found = git(tree, *words).split("\0")
    names = [name for name in found if name and is_lfs_pointer(tree / name)]
    if names:
        more = ", ..." if len(names) > _MOST_NAMED else ""
        yield (
            f"pointers of Git LFS stand for {len(names)} of its files "
            f"({', '.join(names[:_MOST_NAMED])}{more}): "
            "run `git lfs pull` in the repository (before the first time, `git lfs install`)"
        )
