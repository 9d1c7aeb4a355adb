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

    An installed lab gets no entry: a checkout's root also has the folders `results` and `reports`, which would hide a
    user's modules with these names.
    """
    current = os.environ.get("PYTHONPATH", "")
    searched = {Path(folder or ".").resolve() for folder in sys.path}
    installed = {
        Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())
    }
    if IMPORT_ROOT not in searched or IMPORT_ROOT in installed:
        return current
    return os.pathsep.join(filter(None, [str(IMPORT_ROOT), current]))
