"""The digest of the lab's own source: equal digests are equal code, with or without a checkout.

Also a script, `python3 lab/isolate/source.py`, that needs only Python: the image's build runs it
inside and outside and refuses when the two differ, so that an image's label cannot be wrong.
"""

import hashlib
import os
from pathlib import Path

_HERE = Path(__file__).resolve().parents[2]  # as a script it imports nothing of the lab
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
"""What a trial's result depends on; documentation, tests and benchmarks are left out."""

# Runs and baselines lie below results/, and interpreters and editors leave files anywhere.
_DATA = ("results/runs", "results/baselines", "reports/out")
_COMPILED = (".pyc", ".so")


def source_digest(root: Path = _HERE) -> str:
    """Return the SHA-256, in hex, of the names and contents of all source files below `root`.

    Hidden files, compiled ones, runs and baselines do not count; parts that are absent
    (an installed package has no pyproject.toml) count as absent.
    """
    digest = hashlib.sha256()
    for name, path in sorted(_files(root)):
        content = source_bytes(path)
        digest.update(os.fsencode(f"{name}\0{len(content)}\0") + content)
    return digest.hexdigest()


def source_bytes(path: Path) -> bytes:
    """Return the content of a source file; empty for a path that no interpreter can read.

    Such paths are dangling links (an Emacs lock), folders, pipes, and files without read
    permission.
    """
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _files(root: Path) -> list[tuple[str, Path]]:
    found = [(part, root / part) for part in PARTS if (root / part).is_file()]
    if not (
        root / "streamlab"
    ).is_dir():  # an installed package: its own modules lie beside the other folders
        found += [(f"streamlab/{path.name}", path) for path in root.glob("*.py")]
    for part in PARTS:
        for folder, below, names in os.walk(root / part):
            here = Path(folder)
            below[:] = [
                name
                for name in below
                if not name.startswith(".")
                and name != "__pycache__"
                and (here / name).relative_to(root).as_posix() not in _DATA
            ]
            found += [
                ((here / name).relative_to(root).as_posix(), here / name)
                for name in names
                if not name.startswith(".") and not name.endswith(_COMPILED)
            ]
    return found


if __name__ == "__main__":
    print(source_digest())
