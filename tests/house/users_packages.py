"""A user's folder with packages that have the names of the lab's own folders."""

import subprocess
from pathlib import Path

NAMES = ("lab", "workloads", "engines", "results", "reports")

CHECK = f"""
import {", ".join(NAMES)}
import streamlab
import streamlab.lab.cli, streamlab.workloads.model, streamlab.engines.registry
import streamlab.results.schema, streamlab.reports.table

for package in ({", ".join(NAMES)}):
    assert package.OWNER == "user", package.__file__
assert streamlab.csv.__module__.startswith("streamlab.")
"""

IMPORTS = f"""
import {", ".join(NAMES)}
assert {{package.OWNER for package in ({", ".join(NAMES)})}} == {{"user"}}
"""


def write_packages(folder: Path) -> None:
    """Write a package of each name into a folder, a script and a test that import them all."""
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text('OWNER = "user"\n')
    (folder / "script.py").write_text(CHECK)
    (folder / "test_names.py").write_text(
        f"def test_names():{CHECK.replace(chr(10), chr(10) + '    ')}\n"
    )


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder and return its exit status and output."""
    return subprocess.run(
        command,
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
