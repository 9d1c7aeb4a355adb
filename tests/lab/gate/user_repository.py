"""A small repository of a user's engine, made in a folder for tests of the gate."""

import os
from pathlib import Path

from streamlab.lab.gate.repository import Recipe, build_arms
from streamlab.lab.gate.source import commit_working_tree, resolve
from streamlab.lab.host.git import git as host_git

PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A person"), ("EMAIL", "person@localhost"))
} | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""A person without settings: signed commits or other line ends are no part of a test."""

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "crunch-engine"
version = "1.0"

[project.entry-points."lab.engines"]
crunch = "crunch.engine:Crunch"

[project.entry-points."lab.workloads"]
crunched = "crunch.workload:WORKLOAD"

[tool.setuptools]
packages = ["crunch"]
"""
# As much work as ROUNDS says, which needs no memory: its CPU time does not hang on neighbours.
ENGINE = """
import hashlib

from streamlab.engines.reference.adapter import PreparedReference, ReferenceEngine

ROUNDS = {rounds}


class Crunch(ReferenceEngine):
    name = "crunch"

    def prepare(self, task):
        return Prepared(task.workload.program, task.dataset.load(), task.load)


class Prepared(PreparedReference):
    def run(self):
        hashlib.pbkdf2_hmac("sha256", b"stream", b"lab", ROUNDS)
        return super().run()
"""
WORKLOAD = """
from dataclasses import replace

from streamlab.workloads.suite.event_window import WORKLOAD as BASE

WORKLOAD = replace(BASE, name="{name}", title="{title}", input="event_window")
"""
MATRIX = """
[run]
timeout_s = 600
[[workload]]
name = "event_window"
dataset = "{dataset}"
[[engine]]
name = "crunch"
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git as a person of no machine in particular."""
    return host_git(folder, *arguments, env=PERSON)


class UserRepository:
    """Its files, its commits, and the matrix that it is gated with."""

    def __init__(self, folder: Path, dataset: str) -> None:
        self.folder = folder
        self.matrix = folder / "matrix.toml"
        git(folder, "init", "-q", "-b", "main")
        (folder / "pyproject.toml").write_text(PYPROJECT)
        self.matrix.write_text(MATRIX.format(dataset=dataset))
        (folder / "crunch").mkdir()
        (folder / "crunch" / "__init__.py").write_text("")
        self.has_workload("crunch/workload.py", "crunched")

    def works(self, rounds: int) -> None:
        """Set the work of the engine, in rounds."""
        (self.folder / "crunch" / "engine.py").write_text(ENGINE.format(rounds=rounds))

    def has_workload(self, path: str, name: str, title: str = "a window") -> None:
        """Have a workload in a file: that of event windows, under a name of its own."""
        (self.folder / path).write_text(WORKLOAD.format(name=name, title=title))

    def takes(self, workload: str, engine: str) -> None:
        """Let the matrix have another workload and engine."""
        text = self.matrix.read_text()
        text = text.replace('"event_window"', f'"{workload}"').replace('"crunch"', f'"{engine}"')
        self.matrix.write_text(text)

    def commit(self, message: str) -> str:
        """Commit all files and return the commit."""
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.folder, "rev-parse", "HEAD")

    def arms(self, logs, command=None):
        """Build the main branch and the working tree as arms, for a block."""
        revisions = (resolve(self.folder, "main"), commit_working_tree(self.folder))
        recipe = Recipe(command=command)
        return build_arms(self.folder, revisions, recipe, logs=logs, say=print)
