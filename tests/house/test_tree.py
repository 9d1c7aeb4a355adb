"""Rules for the whole tree: no machine paths, a short README."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from streamlab.lab.host.git import git

ROOT = Path(__file__).parents[2]

# Spelled apart, so that this file does not find itself.
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
        pytest.skip("not a git checkout (an image or an archive): nothing says which files count")
    names = git(ROOT, "ls-files", "-z").split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def texts(*suffixes: str) -> list[tuple[Path, str]]:
    found = [path for path in committed() if not suffixes or path.suffix in suffixes]
    return [(path, path.read_text(encoding="utf-8", errors="replace")) for path in found]


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
