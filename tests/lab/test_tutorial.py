"""The commands of docs/tutorial.md, run in order in an empty folder, do what the page says."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```\n(?P<after>.*?)(?=^```|\Z)',
    flags=re.M | re.S,
)
PROGRESS = re.compile(r"^\[\d+/\d+\] (\S+ #\d+  \w+)", flags=re.M)
DOUBTS = {
    *("wrong_output", "invalid", "generator-too-slow", "quick-window"),
    "generator-near-its-ceiling",
}
"""Entries that the page promises on every machine; other warnings depend on it, and a doubtful rate does too."""
PHRASES = ("generator: ", "alone: no ratio", "row 373: ")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the page with the output that it shows, and the exit code that it states."""

    line: str
    shown: str
    exit_code: int


def files() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8")
    return {found["file"]: found["text"] for found in BLOCK.finditer(text) if found["file"]}


def commands() -> list[Command]:
    """Return all commands; the text after a block states the code of its `lab run`, if not 0."""
    result = []
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["kind"] != "console":
            assert block["file"], f"no command and no file: {block['text'][:60]!r}"
            continue
        code = re.search(r"exit code is (\d)", block["after"])
        for part in re.split(r"^\$ ", block["text"], flags=re.M)[1:]:
            line, _, shown = part.partition("\n")
            expected = int(code[1]) if code and line.startswith("lab run") else 0
            result.append(Command(line, shown, expected))
    return result


def entries(output: str) -> set[str]:
    """Return the entries of docs/troubleshooting.md that an output names."""
    named = re.search(r"causes and remedies: .*", output, flags=re.S)
    return set(re.findall(r"#([\w-]+)", named[0])) & DOUBTS if named else set()


def test_the_page_shows_the_tested_commands():
    assert set(files()) == {"totals.py", "load.toml"}
    assert [command.exit_code for command in commands()] == [0, 0, 0, 0, 4, 0, 3, 0, 0]
    assert set.union(*(entries(command.shown) for command in commands())) == DOUBTS
    assert all(any(phrase in command.shown for command in commands()) for phrase in PHRASES)


@pytest.mark.full
def test_every_command_of_the_page_ends_as_it_says(tmp_path):
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    places = {"LAB_RUNS": str(tmp_path / "runs"), "LAB_DATA": str(tmp_path / "data")}
    for command in commands():
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=tmp_path,
            env={**os.environ, **places, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        output = done.stdout + done.stderr
        assert done.returncode == command.exit_code, (command, output)
        assert set(PROGRESS.findall(command.shown)) <= set(PROGRESS.findall(output)), output
        assert entries(command.shown) <= entries(done.stdout), output
        for phrase in PHRASES:
            assert phrase not in command.shown or phrase in output, output
        if command.line.startswith("lab compare"):
            verdicts = re.findall(r"^\| totals/.*\| ([\w ]+?) +\|$", done.stdout, flags=re.M)
            assert verdicts and set(verdicts) <= {"no difference shown", "better", "worse"}
