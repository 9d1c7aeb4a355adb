"""Finds files that a checked-out revision lacks (submodules, Git LFS), with remedies."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from streamlab.lab.gate.source import is_sparse, left_out_clones
from streamlab.lab.host.git import GitError, git
from streamlab.workloads.datasets.imports.raw_files import LFS_POINTER, is_lfs_pointer

_LINK = "160000"
"""Mode of a git entry that is a commit of another repository."""
_MOST_NAMED = 3
_SPARSE = (
    "{} is a sparse checkout, which may lack a file of the matrix (git sparse-checkout add FOLDER)"
)


def find_gaps(tree: Path, checkout: Path | None) -> tuple[str, ...]:
    """Return a sentence, with a remedy, for each group of files that a revision lacks.

    The sentences help to explain a failure. The result is empty if git cannot read the folders.
    """
    try:
        clones = () if checkout is None else left_out_clones(checkout)
        sparse = checkout is not None and is_sparse(checkout)
        gaps = (*_submodules(tree), *_pointers(tree))
    except GitError:
        return ()
    return (*gaps, *clones, *([_SPARSE.format(checkout)] if sparse else ()))


def _submodules(tree: Path, folder: str = "", option: str = "") -> Iterator[str]:
    entries = git(tree, "ls-files", "--stage", "-z").split("\0")
    links = [entry.partition("\t")[2] for entry in entries if entry.startswith(f"{_LINK} ")]
    if not links:
        return
    settings = ""
    with suppress(GitError):  # no such file, or an empty one
        words = ("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        settings = git(tree, *words)
    paths = {line.partition(" ")[2] for line in settings.splitlines()}
    for path in links:
        name = f"{folder}{path}"
        if (tree / path / ".git").exists():
            yield from _submodules(tree / path, f"{name}/", " --recursive")
        elif (tree / path).is_dir() and any((tree / path).iterdir()):
            continue  # the build made it
        elif path in paths:
            yield (
                f"the submodule {name} is not checked out: let --build start with "
                f"`git submodule update --init{option} &&`"
            )
        else:
            yield (
                f"{name} is a nested clone, of which git stores only the commit's hash: make it a "
                f"submodule (git rm --cached {path}; git submodule add URL {path}), or commit its "
                "files"
            )


def _pointers(tree: Path) -> Iterator[str]:
    matches: list[str] = []
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
        matches = git(tree, *words).split("\0")
    names = [name for name in matches if name and is_lfs_pointer(tree / name)]
    if names:
        more = ", ..." if len(names) > _MOST_NAMED else ""
        yield (
            f"{len(names)} files are only Git LFS pointers "
            f"({', '.join(names[:_MOST_NAMED])}{more}): "
            "run `git lfs pull` in the repository (once before, `git lfs install`)"
        )
