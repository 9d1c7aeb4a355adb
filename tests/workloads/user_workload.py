"""A user's workload in a file of its own."""

from pathlib import Path

OWN = """
from dataclasses import replace
from streamlab.workloads.suite.event_window import WORKLOAD as BASE
{more}
WORKLOAD = replace(BASE, name={name!r}, title="mine")
OTHER = replace(BASE, name="other")
PROGRAM = BASE.program
"""


def user_file(folder: Path, file: str = "mine.py", name: str = "mine", more: str = "") -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWN.format(name=name, more=more))
    return path
