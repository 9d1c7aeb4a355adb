"""Builds of the gate that do not come to their end."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from streamlab.lab.gate.build import lock_revision, source_tree
from streamlab.lab.gate.source import Revision, resolve
from streamlab.lab.host.git import git
from tests.processes import Popen

ROOT = Path(__file__).parents[3]
PATIENCE_S = 600


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


BUILD = """
import sys
from pathlib import Path
from streamlab.lab.gate.build import build_arm
from streamlab.lab.gate.source import resolve
from streamlab.lab.interrupt import keep_interrupts
keep_interrupts()
clone = Path(sys.argv[1])
build_arm(clone, resolve(clone, "HEAD"), "old", print)
"""
# Says that it runs, and that it was ended, unless by SIGKILL; compiles nothing.
COMPILER = """#!{python}
import subprocess, sys, time
if "--version" in sys.argv:
    sys.exit(subprocess.run(["c++", *sys.argv[1:]]).returncode)
open({up!r}, "a").write("up")
time.sleep(600)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)]
)
def test_a_signal_for_the_gate_alone_ends_its_compilers(clone, tmp_path, number):
    compiler, up = tmp_path / "slow-c++", tmp_path / "up"
    stamp = source_tree(clone, resolve(clone, "HEAD")).parent / "built.json"
    stamp.write_text("{}")  # an earlier build's, with other tools
    compiler.write_text(COMPILER.format(python=sys.executable, up=str(up)))
    compiler.chmod(0o755)
    with Popen(
        [sys.executable, "-c", BUILD, str(clone)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]]),
            "CXX": str(compiler),
        },
        stderr=subprocess.PIPE,
    ) as process:
        while not up.exists():
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(process.stderr.read())
        below = psutil.Process(process.pid).children(recursive=True)
        assert any(str(compiler) in child.cmdline() for child in below)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert b"KeyboardInterrupt" in err
    assert [child for child in below if child.is_running()] == []
    assert not stamp.exists()
