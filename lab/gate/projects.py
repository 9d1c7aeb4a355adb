"""Finds installed packages that come from the gated repository: both arms would load the same copy of them."""

import configparser
import json
import re
import tomllib
from collections.abc import Collection, Iterator
from configparser import ConfigParser
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

from streamlab.lab.host.git import git

_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_SETUP_NAME = re.compile(r"""\bname\s*=\s*["']([\w.-]+)["']""")


def find_projects(tree: Path) -> frozenset[str]:
    """Return the normalised names of the projects in a checkout and its submodules.

    Reads the tracked files that declare a project, so it misses computed names.
    """
    words = ("ls-files", "-z", "--recurse-submodules", "--")
    files = git(tree, *words, *(f"*{name}" for name in _PROJECT_FILES)).split("\0")
    names = (
        name
        for file in files
        if Path(file).name in _PROJECT_FILES
        for name in _read_names(tree / file)
    )
    return frozenset(map(_normalise, filter(None, names)))


def installed_files(names: Collection[str], checkout: Path) -> frozenset[Path]:
    """Return the files of installed packages that come from a repository.

    Such a package has the name of a project, or was installed from the checkout (PEP 610).
    """
    return frozenset(
        Path(str(package.locate_file(file))).resolve()
        for package in distributions()
        if _normalise(package.name or "") in names or _is_installed_from(package, checkout)
        for file in package.files or ()
    )


def foreign_files(names: Collection[str], site: Path) -> frozenset[Path]:
    """Return the files in a folder of packages that belong to no project of a repository.

    Without names, no package is foreign.
    """
    return frozenset(
        Path(str(package.locate_file(file))).resolve()
        for package in distributions(path=[str(site)])
        if names and _normalise(package.name or "") not in names
        for file in package.files or ()
    )


def _read_names(file: Path) -> Iterator[str]:
    """Yield the project names in a file; nothing if it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.name == "setup.py":
            yield from _SETUP_NAME.findall(text)
        elif file.name == "setup.cfg":
            parser = ConfigParser(interpolation=None)
            parser.read_string(text)
            yield parser.get("metadata", "name", fallback="")
        else:
            content = tomllib.loads(text)
            for table in (content.get("project", {}), content.get("tool", {}).get("poetry", {})):
                yield str(table.get("name", ""))
    except (OSError, ValueError, AttributeError, configparser.Error):
        return


def _is_installed_from(package: Distribution, checkout: Path) -> bool:
    try:
        url = urlsplit(json.loads(package.read_text("direct_url.json") or "{}").get("url", ""))
    except (ValueError, AttributeError, TypeError):
        return False
    path = Path(unquote(url.path))
    return url.scheme == "file" and path.resolve().is_relative_to(checkout.resolve())


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
