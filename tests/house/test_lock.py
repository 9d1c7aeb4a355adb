"""The lock and the requirements belong together."""

import re
import runpy
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
requirements = runpy.run_path(str(ROOT / "tools" / "requirements.py"))["requirements"]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_every_requirement_is_pinned_to_a_version_that_satisfies_it():
    found = pins()
    for line in requirements(ROOT / "pyproject.toml"):
        wanted = Requirement(line)
        assert canonicalize_name(wanted.name) in found, f"{line}: not locked; run `make lock`"
        version = found[canonicalize_name(wanted.name)]
        assert version in wanted.specifier, f"{line}: locked at {version}; run `make lock`"


def test_the_lock_names_versions_and_no_places():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line), line


def test_requirements_cover_build_run_and_development(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[build-system]\nrequires = ["b>=1"]\n[project]\ndependencies = ["a", "c"]\n'
        '[project.optional-dependencies]\ndev = ["c", "D<2"]\n'
    )
    assert requirements(file) == ["a", "b>=1", "c", "D<2"]


def test_the_project_declares_the_oldest_python_that_the_lock_is_made_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert "with Python 3.11;" in (ROOT / "constraints.txt").read_text().splitlines()[0]
