"""Announces the engines and workloads of a source folder that nobody has installed.

A package says what it has to offer in `pyproject.toml`, but Python finds entry points only in the
metadata of what is installed. Here these are written, in the form of an installed distribution.
"""

import tomllib
from configparser import ConfigParser
from pathlib import Path

from streamlab.lab.gate.errors import GateError


def announce(source: Path, site: Path) -> None:
    """Write the entry points of a source folder's pyproject.toml into a folder of the path.

    Does nothing where there is no such file, or none are in it: they may be written elsewhere.

    Raises:
        GateError: it is no TOML, or not of the form that the standard wants.
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
        raise GateError(f"{file} announces nothing: {type(error).__name__}: {error}") from error
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
