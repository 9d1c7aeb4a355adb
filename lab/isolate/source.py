"""Computes a digest of the lab's own source: equal digests mean equal code.

This module is also a script without dependencies, `python3 lab/isolate/source.py`.
The build of the image runs the script inside and outside the image, and fails if the digests differ.
"""

import hashlib
import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]  # a script cannot import the lab's constant
PARTS = (
    "streamlab",
    "lab",
    "workloads",
    "engines",
    "results",
    "reports",
    "pyproject.toml",
    "constraints.txt",
    "CMakeLists.txt",
)
"""The source on which a trial's result depends: all but `DATA`, documentation, tests and benchmarks."""

DATA = ("results/runs", "results/figures", "results/baselines", "reports/out")
_COMPILED = (".pyc", ".so")


def source_digest(root: Path = _ROOT) -> str:
    """Return the SHA-256, in hex, of the names and contents of all source files below `root`.

    Ignores hidden and compiled files, runs, baselines, and missing parts (an installed package has no pyproject.toml).
    """
    digest = hashlib.sha256()
    for name, path in sorted(_files(root)):
        content = source_bytes(path)
        digest.update(os.fsencode(f"{name}\0{len(content)}\0") + content)
    return digest.hexdigest()


def source_bytes(path: Path) -> bytes:
    """Return the content of a source file; empty for an unreadable path.

    Unreadable paths are dangling links (an Emacs lock), folders, pipes, and files without read permission.
    """
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _files(root: Path) -> list[tuple[str, Path]]:
    """Return the name relative to `root`, and the path, of each source file."""
    files = [(part, root / part) for part in PARTS if (root / part).is_file()]
    # In an installed package, the package's own modules are in the root itself.
    if not (root / "streamlab").is_dir():
        files += [(f"streamlab/{path.name}", path) for path in root.glob("*.py")]
    for part in PARTS:
        for folder, subfolders, names in os.walk(root / part):
            parent = Path(folder)
            subfolders[:] = [
                name
                for name in subfolders
                if not name.startswith(".")
                and name != "__pycache__"
                and (parent / name).relative_to(root).as_posix() not in DATA
            ]
            files += [
                ((parent / name).relative_to(root).as_posix(), parent / name)
                for name in names
                if not name.startswith(".") and not name.endswith(_COMPILED)
            ]
    return files


if __name__ == "__main__":
    print(source_digest())
