"""Inspects a node of a cluster from a task that runs there.

Spark gets the functions by value, because a node may lack this package.
"""

import os
import platform
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

PYTHON = "Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """Software and files that a task sees on its node.

    Attributes:
        node: host name of the node.
        versions: versions of Python and of packages, by name; "missing" if not installed.
        unseen: files that are missing or have another size.
    """

    node: str
    versions: dict[str, str]
    unseen: list[str]


def versions_here(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python, without its patch level, and of packages."""
    versions = {PYTHON: ".".join(platform.python_version_tuple()[:2])}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


def inspect_node(packages: Sequence[str], files: Sequence[tuple[str, int]]) -> dict[str, object]:
    """Return the fields of a `NodeReport`.

    Args:
        packages: names of Python packages.
        files: paths, each with its size in bytes.
    """

    def is_seen(path: str, size: int) -> bool:
        try:
            return os.path.getsize(path) == size  # noqa: PTH202 (as light as possible)
        except OSError:
            return False

    return {
        "node": socket.gethostname(),
        "versions": versions_here(packages),
        "unseen": [path for path, size in files if not is_seen(path, size)],
    }
