"""Builds of the gate that are interrupted."""

import fcntl
import os

import pytest

from streamlab.lab.gate import build
from streamlab.lab.gate.build import lock_revision, source_tree
from streamlab.lab.gate.source import Revision, resolve
from streamlab.lab.host.git import git


def test_a_checkout_that_git_did_not_finish_is_made_again(clone):
    head = resolve(clone, "HEAD")
    tree = source_tree(clone, head)
    kept = (tree / "README.md").stat().st_ino
    assert (source_tree(clone, head) / "README.md").stat().st_ino == kept
    (tree / "lab" / "runner" / "provenance.py").unlink()
    assert source_tree(clone, head) == tree
    assert git(tree, "status", "--porcelain") == ""


def test_two_gates_do_not_make_a_revision_at_once(tmp_path):
    revision = Revision(commit="0" * 40, label="one")
    with lock_revision(tmp_path, revision):
        lock = os.open(tmp_path / "build" / "gate" / f"{revision.commit}.lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(lock)


def test_a_build_that_is_interrupted_is_made_again(clone, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    stamp = source_tree(clone, resolve(clone, "HEAD")).parent / "built.json"
    stamp.write_text("{}")  # an earlier build's, with other tools
    monkeypatch.setattr(build, "run_build", interrupt)
    with pytest.raises(KeyboardInterrupt):
        build.build_arm(clone, resolve(clone, "HEAD"), "old", print)
    assert not stamp.exists()
