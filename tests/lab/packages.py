"""Packages that the tests install."""

import subprocess
import sys
from pathlib import Path


def install(package: Path, site: Path) -> None:
    """Install a package into a folder, as a user would, without the network."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
            *("--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)),
            str(package),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
