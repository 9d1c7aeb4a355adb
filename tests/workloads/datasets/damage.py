"""Damage to files of datasets."""

import json
import os
from pathlib import Path

from streamlab.workloads.datasets import manifest


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a file; its times stay as they were, as when a disk does it."""
    state = path.stat()
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def edit(folder: Path, change, *, sealed: bool = False) -> None:
    """Change a record; when sealed, with the checksum that belongs to it."""
    path = folder / manifest.NAME
    record = json.loads(path.read_text())
    change(record)
    if sealed:
        record["checksum"] = manifest._checksum(record)
    path.write_text(json.dumps(record))
