"""Registers the entry points of a source folder without installing it.

Python reads entry points only from the metadata of installed distributions.
This module writes such metadata from `pyproject.toml`.
"""

import tomllib
from configparser import ConfigParser
from pathlib import Path

from streamlab.lab.gate.errors import GateError


def announce(source: Path, site: Path) -> None:
    """Write the entry points of a source folder's pyproject.toml into a folder of the path.

    Does nothing if the file is missing or has no entry points.

    Raises:
        GateError: the file is not TOML, or not of the standard's form.
    """
    file = source / "pyproject.toml"
    if not file.is_file():
        return
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("project", {})
        groups = {
            group: dict(points.items()) for group, points in project.get("entry-points", {}).items()
        }
        name = str(project["name"]) if groups else ""
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise GateError(f"{file}: wrong entry points: {type(error).__name__}: {error}") from error
    if not groups:
        return
    version = project.get("version", "0")
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    points = ConfigParser(delimiters=("=",), interpolation=None)
    points.optionxform = str  # type: ignore[assignment]  # names keep their case
    points.read_dict(groups)
    with (folder / "entry_points.txt").open("w", encoding="utf-8") as text:
        points.write(text)
