"""A command's standard output has the lab's text alone; a closed reader ends the command."""

import io
import os
import subprocess
import sys

import pytest

from streamlab.lab.cli import EXIT_CLOSED_PIPE, EXIT_OK, call
from tests.workloads.user_workload import user_file

PRINTS = """
import sys
print("at import")
print("into the stream", file=sys.stdout)
sys.stdout.write("written")
import rich
rich.print("through rich")
"""


@pytest.fixture
def unread():
    """A standard stream whose reader is gone."""
    read, write = os.pipe()
    os.close(read)
    stream = io.TextIOWrapper(io.FileIO(write, "w"), write_through=True)
    yield stream
    with pytest.MonkeyPatch.context():
        stream.detach().close()


COMMANDS = [
    ["--help"],
    ["compare", "--help"],
    ["list", "workloads", "--json"],
    ["plan", "event_window", "-w", "2"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_whose_reader_is_gone_ends_as_by_sigpipe(unread, monkeypatch, capfd, command):
    monkeypatch.setattr(sys, "stdout", unread)
    assert call(command) == EXIT_CLOSED_PIPE
    assert "Traceback" not in capfd.readouterr().err


def test_an_error_without_a_reader_ends_as_by_sigpipe(unread, monkeypatch):
    monkeypatch.setattr(sys, "stderr", unread)
    assert call(["plan", "no such workload"]) == EXIT_CLOSED_PIPE


def test_a_pipe_of_another_process_is_no_closed_output(monkeypatch):
    def broken(arguments):
        raise BrokenPipeError("a child's")

    monkeypatch.setattr("streamlab.lab.cli._call", broken)
    with pytest.raises(BrokenPipeError, match="a child's"):
        call([])


def test_the_process_ends_without_a_word(tmp_path):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "streamlab", "list", "workloads"]
    command[1:3] = ["-c", "from streamlab.lab.cli import main; main()"]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (EXIT_CLOSED_PIPE, b"")


def test_output_of_a_workload_is_not_on_standard_output(tmp_path, capsys):
    path = user_file(tmp_path)
    path.write_text(PRINTS + path.read_text())
    assert call(["plan", str(path), "-w", "2"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert "worker 0" in out
    for text in ("at import", "into the stream", "written", "through rich"):
        assert text in err and text not in out


SAYING = """
ORDINARY = BASE.program.depends
def depends(a, b):
    print("within")
    return ORDINARY(a, b)
BASE = replace(BASE, program=replace(BASE.program, depends=depends))
"""


def test_output_of_a_program_is_not_on_standard_output(tmp_path, capsys):
    path = user_file(tmp_path, more=SAYING)
    assert call(["plan", str(path), "-w", "2"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert "within" not in out and "within" in err
