"""The lock pins every requirement."""

import ast
import re
import runpy
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from streamlab.workloads.optional_packages import EXTRAS

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


def test_requirements_cover_build_core_and_every_extra(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[build-system]\nrequires = ["b>=1"]\n[project]\nname = "p"\ndependencies = ["a", "c"]\n'
        '[project.optional-dependencies]\nall = ["p[dev]"]\ndev = ["c", "D<2"]\n'
    )
    assert requirements(file) == ["a", "b>=1", "c", "D<2"]


WITHOUT_IMPORT = {"protobuf"}
"""Spark's stateful processing imports it, and does not require it."""


def test_the_lab_depends_on_all_packages_that_it_imports():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    imported = set()
    for package in ("lab", "workloads", "engines", "results", "reports"):
        for file in (ROOT / package).rglob("*.py"):
            if any((folder / "requirements.txt").is_file() for folder in file.parents):
                continue  # an engine with an environment of its own
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    imported.add(str(node.module).partition(".")[0])
    known = packages_distributions()
    used = {canonicalize_name(name) for module in imported for name in known.get(module, ())}
    tiers = ("check", "container", "energy", "spark")
    lines = [
        *project["dependencies"],
        *(line for tier in tiers for line in project["optional-dependencies"][tier]),
    ]
    wanted = {canonicalize_name(Requirement(line).name) for line in lines}
    assert wanted - used == WITHOUT_IMPORT
    assert project["optional-dependencies"]["all"] == [f"{project['name']}[{','.join(tiers)}]"]


def test_a_message_about_a_missing_package_names_the_extra_that_installs_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package, extra in EXTRAS.items():
        names = {Requirement(line).name for line in project["optional-dependencies"][extra]}
        assert package in names, (package, extra)


def test_the_project_declares_the_oldest_python_that_the_lock_is_made_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert "with Python 3.11;" in (ROOT / "constraints.txt").read_text().splitlines()[0]
