"""Finds submodules and nested clones that a checked-out revision lacks, with remedies."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from streamlab.lab.gate.source import left_out_clones
from streamlab.lab.host.git import GitError, git

_GITLINK_MODE = "160000"
"""Mode of a git entry that is a commit of another repository."""


def find_gaps(tree: Path, checkout: Path | None) -> tuple[str, ...]:
    """Return a sentence, with a remedy, for each group of files that a revision lacks.

    The sentences help to explain a failure. The result is empty if git cannot read the folders.
    """
    try:
        clones = () if checkout is None else left_out_clones(checkout)
        return (*_find_missing_submodules(tree), *clones)
    except GitError:
        return ()


def _find_missing_submodules(tree: Path, folder: str = "", option: str = "") -> Iterator[str]:
    """Yield a sentence for each submodule or nested clone in `tree` without files; searches submodules, too."""
    entries = git(tree, "ls-files", "--stage", "-z").split("\0")
    links = [entry.partition("\t")[2] for entry in entries if entry.startswith(f"{_GITLINK_MODE} ")]
    if not links:
        return
    settings = ""
    with suppress(GitError):  # the file is missing or empty
        words = ("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        settings = git(tree, *words)
    paths = {line.partition(" ")[2] for line in settings.splitlines()}
    for path in links:
        name = f"{folder}{path}"
        if (tree / path / ".git").exists():
            yield from _find_missing_submodules(tree / path, f"{name}/", " --recursive")
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
