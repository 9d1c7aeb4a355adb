"""Locates the lab's own code, and lets child processes import the same code."""

import json
import os
import site
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlparse

SOURCE = Path(__file__).resolve().parents[2]
"""Folder of `lab`, `workloads`, `engines`, `results` and `reports`: a checkout, or the installed `streamlab`."""

IMPORT_ROOT = SOURCE if (SOURCE / "streamlab").is_dir() else SOURCE.parent
"""Folder in which Python finds the package `streamlab`."""


@cache
def is_installed() -> bool:
    """Return whether this interpreter imports `streamlab` without an entry in PYTHONPATH."""
    folders = (*site.getsitepackages(), site.getusersitepackages())
    if IMPORT_ROOT in {Path(folder).resolve() for folder in folders}:
        return True
    try:  # the lab may be installed in editable mode
        origin = distribution("stream-lab").read_text("direct_url.json")
    except PackageNotFoundError:
        return False
    return (
        origin is not None
        and Path(unquote(urlparse(json.loads(origin)["url"]).path)).resolve() == IMPORT_ROOT
    )


def python_path() -> str:
    """Return the PYTHONPATH with which a child process imports this process's `streamlab`.

    An installed lab gets no entry, because a checkout's folders `results` and `reports` would hide the user's modules
    with these names. An entry that the user has set stays in its place.
    """
    user_path = os.environ.get("PYTHONPATH", "")
    folders = [Path(folder).resolve() for folder in user_path.split(os.pathsep) if folder]
    if is_installed() or IMPORT_ROOT in folders:
        return user_path
    return os.pathsep.join(filter(None, [str(IMPORT_ROOT), user_path]))
