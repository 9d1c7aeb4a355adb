"""Finds the files that paths, folders and globs name."""

import glob
from pathlib import Path

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.raw_files import check_readable
from streamlab.workloads.default_folders import here

Paths = tuple[str, ...]
"""Files, folders and globs, as the user wrote them."""

_GLOB = ("*", "?", "[")


def paths_of(paths: object) -> Paths:
    """Return paths as texts.

    Raises:
        DatasetError: `paths` is neither a path nor a sequence of paths.
    """
    several = paths if isinstance(paths, list | tuple) else [paths]
    for path in several:
        if not isinstance(path, str | Path) or not str(path):
            raise DatasetError(f"{path!r} is not a path of a file; give a text or a Path")
    if not several:
        raise DatasetError("no file given; name at least one")
    return tuple(str(path) for path in several)


def resolve_paths(paths: Paths, folder: Path) -> Paths:
    """Return paths, with relative ones resolved against a folder."""
    escaped = Path(glob.escape(str(folder)))
    return tuple(
        str((escaped if _is_glob(archive_of(path)[0]) else folder) / path) for path in paths
    )


def find_files(paths: Paths, *, folders: str | None) -> tuple[Path, ...]:
    """Return all files, in order of the paths; those of a folder or a glob in order of name.

    `folders` is the suffix of the files to take from a folder; None: folders are an error.

    Raises:
        DatasetError: a path matches no file, or a file cannot be read.
    """
    files: list[Path] = []
    for path in paths:
        files += _files(path, folders)
    for file in files:
        check_readable(file)
    return tuple(files)


def archive_of(path: str) -> tuple[str, str]:
    """Return the file of a path, and the pattern for members of an archive."""
    archive, mark, pattern = path.partition("!")
    return (archive, pattern) if mark and not Path(here(), path).exists() else (path, "*")


def first_file(paths: Paths) -> Path:
    """Return a file of the first path, whatever its format.

    Raises:
        DatasetError: no file found, or it cannot be read.
    """
    first, _ = archive_of(paths[0])
    place = Path(here(), first)
    candidates = sorted(place.rglob("*.parquet")) or sorted(place.rglob("*.arrow"))
    file = candidates[0] if place.is_dir() and candidates else _files(first, None)[0]
    check_readable(file)
    return file


def _files(path: str, suffix: str | None) -> list[Path]:
    place = Path(here(), path)
    if _is_glob(path) and not place.exists():
        matching = sorted(Path(match) for match in glob.glob(str(place), recursive=True))  # noqa: PTH207 - of any path
        files = [file for file in matching if file.is_file() and not file.name.startswith(".")]
        if not files:
            raise DatasetError(f"{path} matches no file")
        return files
    if not place.is_dir():
        return [place]
    if suffix is None:
        raise DatasetError(f"{path} is a folder; name its files, such as {path.rstrip('/')}/*.csv")
    candidates = sorted(place.rglob(f"*{suffix}"))
    files = [file for file in candidates if file.is_file() and not file.name.startswith((".", "_"))]
    if not files:
        raise DatasetError(f"{path} is a folder without any file *{suffix}")
    return files


def _is_glob(path: str) -> bool:
    return any(sign in path for sign in _GLOB)
