"""`--json` prints the records of docs/json.md, and nothing else on standard output."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, call
from tests.processes import Popen

DOCUMENT = Path(__file__).parents[3] / "docs" / "json.md"


def documented() -> dict[str, set[str]]:
    """Return the keys of a record by command, as the table of the document has them."""
    rows = re.findall(r"^\| (`lab .*?) \| (.*) \|$", DOCUMENT.read_text(), flags=re.MULTILINE)
    return {
        command: set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", keys)))
        for commands, keys in rows
        for command in re.findall(r"`(lab [^`]*)`", commands)
    }


@pytest.fixture
def stored(stored_run, dataset):
    """The id of a dataset; a run of it is stored, and one that is damaged."""
    damaged = stored_run(["correct"]).with_name("damaged")
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    return dataset


def test_records_have_the_documented_keys(stored, capsys):
    for command, keys in documented().items():
        words = [stored if word == "ID" else word for word in command.split()[1:]]
        assert call(words) == EXIT_OK
        printed = json.loads(capsys.readouterr().out)
        records = [printed] if "show" in words else printed
        assert records, command
        for record in records:
            assert set(record) == keys, command
    assert len(documented()) == 7


def test_a_damaged_run_is_a_record_with_its_error(stored, capsys):
    assert call(["list", "runs", "--json"]) == EXIT_OK
    good, damaged = sorted(json.loads(capsys.readouterr().out), key=lambda run: bool(run["error"]))
    assert (good["complete"], good["cells"], good["error"]) == (True, 1, None)
    assert damaged["name"] == "damaged" and "run.json" in damaged["error"]


@pytest.mark.parametrize(("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_is_honoured_on_a_terminal(environ, coloured):
    ours, theirs = pty.openpty()
    done = Popen(
        [sys.executable, "-m", "streamlab", "doctor"],
        env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **environ},
        stdout=theirs,
    )
    os.close(theirs)
    received = b""
    try:
        while part := os.read(ours, 4096):
            received += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert done.wait() == EXIT_OK
    assert b"places" in received
    assert (b"\x1b[" in received) is coloured


def test_without_a_terminal_there_are_no_colours(stored):
    for words in (["doctor"], ["list", "runs"]):
        done = subprocess.run(
            [sys.executable, "-m", "streamlab", *words], capture_output=True, check=True
        )
        assert b"\x1b" not in done.stdout + done.stderr
