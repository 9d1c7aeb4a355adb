"""Folders that are full, read-only or no folders: each is one clear error, whatever is written."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from streamlab.lab.cli import EXIT_USER_ERROR, call
from streamlab.results.store import read_run
from tests.lab.isolate.podman import SOURCE

PATIENCE_S = 600

# Each is tried with the place for PLACE, and with RUN, a finished run (COPY: one at the place).
COMMANDS = (
    "run MATRIX --out PLACE/runs",
    "run --resume COPY",
    "report COPY",
    "report RUN --out PLACE/report.html",
    "compare RUN RUN --out PLACE/compared",
    "gate --baseline RUN --run RUN --junit PLACE/junit.xml",
    "gate --baseline RUN --run RUN --markdown PLACE/summary.md",
    "figure stretch:6 --quick --out PLACE/figures",
    "plan event_window --workers 2 --svg PLACE/plan.svg",
)

# In a mount namespace of its own: the disks are gone with the script, whatever happens.
SCRIPT = """
import contextlib, io, json, shutil, subprocess, sys
from pathlib import Path
from streamlab.lab.cli import call

places, run, commands = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
full, still = places / "full", places / "read-only"
for place in (full, still):
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True)
    shutil.copytree(run, place / "run")
with (full / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
    while True:
        ballast.write(bytes(4096))
subprocess.run(["mount", "-o", "remount,ro", still], check=True)
found = []
for place in (full, still):
    for command in commands:
        words = [word.replace("COPY", str(place / "run")).replace("PLACE", str(place))
                 for word in command]
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = call(words)
            except Exception as error:
                code = repr(error)
        found.append([place.name, command, code, stream.getvalue()])
print(json.dumps(found))
"""


@pytest.fixture
def commands_on_places(stored_run, matrix):
    """A finished run, and the commands for it as lists of words."""
    path, run = matrix(["correct"]), stored_run(["correct"])
    return run, [
        [word.replace("MATRIX", str(path)).replace("RUN", str(run)) for word in command.split()]
        for command in COMMANDS
    ]


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="FULL AND READ-ONLY DISKS ARE NOT TESTED: mounting them needs root and unshare",
)
def test_full_and_read_only_disks_are_reported_with_their_place(commands_on_places, tmp_path):
    run, commands = commands_on_places
    command = "unshare", "--mount", "--propagation", "private", sys.executable, "-c", SCRIPT
    done = subprocess.run(
        [*command, str(tmp_path), str(run), json.dumps(commands)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path[1:]])},
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reasons = {"full": "No space left on device", "read-only": "Read-only file system"}
    odd = [
        (place, words, code, text)
        for place, words, code, text in json.loads(done.stdout.splitlines()[-1])
        if code != EXIT_USER_ERROR
        or reasons[place] not in text
        or f"{tmp_path / place}" not in text
    ]
    assert odd == []


def test_place_below_a_file_is_reported(commands_on_places, tmp_path, capsys):
    place = tmp_path / "file"
    place.write_text("")
    run, commands = commands_on_places
    for words in commands:
        if "COPY" in words:
            continue
        code = call([word.replace("PLACE", str(place)) for word in words])
        errors = capsys.readouterr().err
        assert code == EXIT_USER_ERROR, (words, errors)
        assert str(place) in errors and "Not a directory" in errors, (words, errors)
    assert len(read_run(run).rows) == 1


def test_report_is_not_written_over_a_folder(commands_on_places, tmp_path, capsys):
    assert call(["report", str(commands_on_places[0]), "--out", str(tmp_path)]) == EXIT_USER_ERROR


def test_missing_accept_list_is_reported_before_anything_is_read(capsys, tmp_path):
    arguments = ["gate", "--baseline", "nowhere", "--run", "nowhere"]
    assert call([*arguments, "--accept", str(tmp_path / "none.toml")]) == EXIT_USER_ERROR
    errors = capsys.readouterr().err
    assert "none.toml: cannot read the accepted regressions: No such file" in errors
