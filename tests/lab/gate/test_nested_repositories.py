"""Submodules and nested clones in the working tree of a gated repository."""

import shutil

import pytest

from streamlab.lab.cli import EXIT_INCONCLUSIVE, call
from streamlab.lab.gate.source import check_out, commit_working_tree
from tests.lab.gate.user_repository import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is absent here")

LOCAL = ("-c", "protocol.file.allow=always")


@pytest.fixture
def part(tmp_path):
    """Another repository, which may become a submodule or a nested clone."""
    folder = tmp_path / "other"
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    (folder / "__init__.py").write_text("PART = 1\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "A part")
    return folder


def add_submodule(repo, part):
    """Commit another repository as a submodule, and return the commit."""
    git(repo.folder, *LOCAL, "submodule", "add", "-q", str(part), "part")
    return repo.commit("A submodule")


def test_settings_and_hooks_of_the_user_do_not_change_the_checkout(repo, part, tmp_path):
    add_submodule(repo, part)
    settings = ("submodule.recurse", "true"), ("color.ui", "always"), ("status.short", "true")
    for name, value in (*settings, ("core.hooksPath", str(tmp_path / "hooks"))):
        git(repo.folder, "config", name, value)
    (tmp_path / "hooks").mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = tmp_path / "hooks" / name
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    repo.works(2)
    folder = tmp_path / "arm"
    check_out(repo.folder, commit_working_tree(repo.folder).commit, folder)
    assert (folder / "crunch" / "engine.py").is_file()
    assert list((folder / "part").iterdir()) == []


@pytest.mark.parametrize("clone", ["clone", "empty", "worktree"])
def test_a_nested_clone_that_git_does_not_know_is_left_out_and_reported(repo, part, clone):
    words = {
        "clone": ["clone", "-q", str(part), "nested [1]"],
        "empty": ["init", "-q", "nested [1]"],
        "worktree": ["worktree", "add", "-q", "--detach", "nested [1]"],
    }
    git(repo.folder, *words[clone])
    (repo.folder / "nested 1").mkdir()
    (repo.folder / "nested 1" / "file").write_text("is no clone\n")
    revision = commit_working_tree(repo.folder)
    names = git(repo.folder, "ls-tree", "-r", "--name-only", revision.commit)
    assert "nested [1]" not in names and "nested 1/file" in names
    assert revision.left_out == (
        "the nested clone nested [1] is not a submodule, and is in neither arm (git submodule add URL "
        "nested [1])",
    )


def test_changes_inside_a_submodule_are_reported_and_its_commit_is_taken(repo, part):
    head = add_submodule(repo, part)
    assert commit_working_tree(repo.folder).left_out == ()
    (repo.folder / "part" / "__init__.py").write_text("PART = 2\n")
    revision = commit_working_tree(repo.folder)
    assert revision.commit == head
    assert revision.left_out == ("uncommitted changes in the submodule part are in neither arm",)


def test_a_cell_that_neither_arm_can_load_is_not_added(repo, part, capsys):
    git(repo.folder, *LOCAL, "submodule", "add", "-q", str(part), "part")
    repo.has_workload("mine.py", "mine")
    with (repo.folder / "mine.py").open("a") as text:
        text.write("from part import PART\n")
    repo.commit("A submodule that is imported")
    # The checkout has the submodule, in which the matrix is read; the arms have not.
    repo.takes("mine.py", "crunch")
    words = ["gate", "--repo", ".", "--against", "main", str(repo.matrix), "--metric", "cpu"]
    assert call([*words, "--repetitions", "4"]) == EXIT_INCONCLUSIVE
    out = capsys.readouterr().out
    assert "neither arm has it; new: " in out and "PART" in out and "| added" not in out
