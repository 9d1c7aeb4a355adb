"""Locates the lab's own code, and builds the PYTHONPATH for child processes."""

import os
import site
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
"""The folder with `lab`, `workloads`, `engines`, `results` and `reports`: a checkout's root, or the installed package
`streamlab`."""

IMPORT_ROOT = SOURCE if (SOURCE / "streamlab").is_dir() else SOURCE.parent
"""The folder in which Python finds the package `streamlab`."""


def python_path() -> str:
    """Return the PYTHONPATH that lets a child process import this process's `streamlab`.

    An installed lab, also one in editable mode, needs no entry and gets none: a checkout's root holds folders called
    `results` and `reports`, too, and in PYTHONPATH they would hide a user's modules of these names.
    """
    known = os.environ.get("PYTHONPATH", "")
    installed = {
        Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())
    }
    for folder in map(Path.resolve, map(Path, sys.path)):
        if folder in installed:
            break
        if folder == IMPORT_ROOT:
            return os.pathsep.join(filter(None, [str(IMPORT_ROOT), known]))
    return known
