"""Packages that the tests install."""

from pathlib import Path

from tests.processes import run_python


def install(package: Path, site: Path) -> None:
    """Install a package into a folder, as a user would, without the network."""
    run_python(
        *("-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
        *("--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)),
        str(package),
        check=True,
    )
