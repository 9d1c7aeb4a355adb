"""Fixtures of the gate's tests: a clone of this checkout, and a repository of a user."""

import shutil
from pathlib import Path

import pytest

from streamlab.lab.host.git import git
from tests.lab.gate.user_repository import UserRepository

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there are no revisions to build")
    folder = tmp_path_factory.mktemp("clone") / "lab"
    git(ROOT, "clone", "-q", str(ROOT), str(folder))
    return folder


@pytest.fixture
def repo(tmp_path, dataset, monkeypatch):
    """A repository with an engine, which is the current folder."""
    (tmp_path / "crunch").mkdir()
    made = UserRepository(tmp_path / "crunch", dataset[:12])
    made.works(40_000)
    made.commit("An engine")
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return made
