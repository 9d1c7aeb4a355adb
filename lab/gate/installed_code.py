"""Refuses an arm whose installed code differs from its source, and two arms with the same installed code.

A build may install code that is older than its source: from a committed `build` folder, a stored
wheel, or a cache.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.projects import find_projects, foreign_files
from streamlab.lab.host.git import git

_BUILD_FOLDERS = frozenset({"build", "dist", "_skbuild"})
_VERSION = re.compile(
    r"_*(version(_tuple|_info)?|revision|commit(_id)?|git_?(sha|hash))_*", re.IGNORECASE
)
"""Matches variables whose value a build may change."""
_COMPILED_SUFFIXES = (".so", ".pyd")
_SOURCE_SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cu", ".cxx", ".f90", ".go", ".h", ".hh", ".hpp", ".pxd", ".pyx", ".rs"}
)
_MAX_NAMED = 3


def check_installed(arm: Arm, loaded: Collection[Path]) -> None:
    """Check that the modules in an arm's site folder equal their source.

    Comments and versions may differ. Generated modules, which have no source file, are not checked.

    Raises:
        GateError: a module differs from its source.
    """
    site = arm.path[0]
    foreign = foreign_files(find_projects(arm.tree), site)
    installed_files = [file for file in loaded if file.is_relative_to(site) and file not in foreign]
    tracked_by_name: Mapping[str, list[PurePosixPath]] = defaultdict(list)
    for name in git(arm.tree, "ls-files", "-z", "--recurse-submodules").split("\0"):
        tracked_by_name[PurePosixPath(name).name].append(PurePosixPath(name))
    for file in installed_files:
        inner = file.relative_to(site)
        copies = [
            path
            for path in tracked_by_name[file.name]
            if path.parts[-len(inner.parts) :] == inner.parts
        ]
        built = [path for path in copies if _is_built(path, inner)]
        sources = [path for path in copies if path not in built]
        stale = [path for path in built if _is_same_code(file, arm.tree / path)]
        if sources:
            is_wrong = not any(_is_same_code(file, arm.tree / path) for path in sources)
        else:
            is_wrong = bool(stale) and file.suffix in _COMPILED_SUFFIXES
        if is_wrong:
            raise GateError(_mismatch(arm, inner, sources, stale))


def check_different(
    old: Sequence[Path], new: Sequence[Path], arms: tuple[Arm, Arm], changed: Sequence[str]
) -> str | None:
    """Return a note if both arms load the same code although their revisions differ.

    Raises:
        GateError: sources of compiled code differ, but the compiled modules do not.
    """
    if not changed or not new or _contents(old, arms[0]) != _contents(new, arms[1]):
        return None
    ellipsis = ", ..." if len(changed) > _MAX_NAMED else ""
    note = (
        "both arms load the same code: no cell imports a file that differs between the revisions "
        f"({', '.join(changed[:_MAX_NAMED])}{ellipsis})"
    )
    sources = [name for name in changed if PurePosixPath(name).suffix in _SOURCE_SUFFIXES]
    compiled_files = [file for file in new if file.suffix in _COMPILED_SUFFIXES]
    if sources and compiled_files:
        raise GateError(
            f"{note}; {sources[0]} differs, but {compiled_files[0].name} is the same in both: no "
            "verdict; let --build compile it, and remove compiled files from the repository (git "
            "rm --cached)"
        )
    return note


def _mismatch(
    arm: Arm, inner: Path, sources: Sequence[PurePosixPath], stale: Sequence[PurePosixPath]
) -> str:
    source = f"its source {sources[0]}" if sources else "compiled from its source"
    problem = f"{arm.name} arm, {arm.revision}: the installed {inner} is not {source}"
    if not stale:
        return (
            f"{problem}: no verdict, as other code would be measured; let --build install from "
            f"{source}, without a stored wheel or a cache"
        )
    folder = next(
        "/".join(stale[0].parts[: index + 1])
        for index, part in enumerate(stale[0].parts)
        if part in _BUILD_FOLDERS
    )
    return (
        f"{problem} but the committed file {stale[0]}: no verdict, as older code would be measured; "
        f"remove the folder from the repository (git rm -r --cached {folder}; echo {folder}/ >> "
        f".gitignore), or let --build start with `rm -rf {folder} &&`"
    )


def _is_built(path: PurePosixPath, inner: Path) -> bool:
    outer = path.parts[: -len(inner.parts)]
    return not _BUILD_FOLDERS.isdisjoint(outer)


def _is_same_code(installed_file: Path, source_file: Path) -> bool:
    """Return whether two files have the same code; False if one is missing."""
    try:
        texts = installed_file.read_bytes(), source_file.read_bytes()
    except OSError:
        return False
    if texts[0] == texts[1]:
        return True
    if installed_file.suffix != ".py":
        return False
    if _VERSION.fullmatch(installed_file.stem):
        return True
    try:
        return _dump_code(texts[0]) == _dump_code(texts[1])
    except (SyntaxError, ValueError):
        return False


def _dump_code(text: bytes) -> str:
    """Return a module's syntax tree as text, without comments and versions."""
    module = ast.parse(text)
    module.body = [each for each in module.body if not _sets_version(each)]
    return ast.dump(module)


def _sets_version(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return False
    return all(isinstance(each, ast.Name) and _VERSION.fullmatch(each.id) for each in targets)


def _contents(files: Sequence[Path], arm: Arm) -> Mapping[Path, bytes]:
    folder = arm.tree.parent
    return {
        file.relative_to(folder): file.read_bytes()
        for file in files
        if file.is_relative_to(folder) and file.is_file()
    }
