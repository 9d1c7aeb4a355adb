"""The package, the citation and the changelog name one version."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_package_the_citation_and_the_changelog_name_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    entry = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert citation is not None and entry is not None
    assert (citation[1], entry[1]) == (project["version"], project["version"])
