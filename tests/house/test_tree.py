"""Checks the whole tree: no paths of a machine, a short README, one version."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from streamlab.lab.host.git import git

ROOT = Path(__file__).parents[2]

# In pieces, so that the search does not match this file.
FORBIDDEN = [
    "/wo" + "rk/",
    "pypi" + r"\.org",
    "files.python" + "hosted",
    "deb.debian" + r"\.org",
    "registry.npm" + "js",
    r"repo1?\.mav" + "en",
]


def committed() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout (an image or an archive): the committed files are unknown")
    names = git(ROOT, "ls-files", "-z").split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def texts(*suffixes: str) -> list[tuple[Path, str]]:
    paths = [path for path in committed() if not suffixes or path.suffix in suffixes]
    return [(path, path.read_text(encoding="utf-8", errors="replace")) for path in paths]


def test_no_file_names_a_path_of_the_machine_it_was_written_on_or_a_registry():
    pattern = re.compile("|".join(FORBIDDEN))
    hits = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert hits == []


def test_the_readme_is_under_a_hundred_lines_and_names_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 100
    assert "make demo" in text
    assert "make test" in text


def test_the_readme_names_only_make_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    readme = (ROOT / "README.md").read_text()
    assert set(re.findall(r"make ([a-z][a-z-]*)", readme)) <= targets


def test_make_lists_its_targets():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "lint", "stress", "targets", "lock", "image"):
        assert re.search(rf"^  {target} ", listed.stdout, flags=re.MULTILINE), target


def test_the_package_the_citation_and_the_changelog_name_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    entry = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert citation is not None and entry is not None
    assert (citation[1], entry[1]) == (project["version"], project["version"])
