"""A confined command writes to its own folders only, and does not see hidden ones."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from streamlab.lab.isolate import confine
from streamlab.lab.isolate.process import FileAccess, run_isolated, why_unconfined
from streamlab.lab.runner.launcher import make_temporary_folders
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import find_java

SCRIPT = """
for path in "$@"; do (echo x > "$path/new") 2> /dev/null && echo "wrote $path"; done
ls "$HIDDEN"
"""


@pytest.fixture(autouse=True)
def _confined():
    if (why := why_unconfined()) is not None:
        pytest.skip(f"PROCESSES CANNOT BE CONFINED HERE: {why}")


@pytest.fixture
def folders(tmp_path):
    made = {name: tmp_path / name for name in ("own", "other", "hidden")}
    for path in made.values():
        path.mkdir()
    (made["hidden"] / "answer").touch()
    return made


def confined(command, log, env=None, **access):
    return run_isolated(command, log=log, timeout_s=600, env=env, access=FileAccess(**access))


def test_only_the_named_folders_can_be_written_and_hidden_ones_are_empty(folders, tmp_path):
    log = tmp_path / "log"
    places = [str(folders[name]) for name in ("own", "other", "hidden")]
    outcome = confined(
        ["sh", "-c", SCRIPT, "sh", *places, "/dev/shm", str(Path.home())],
        log,
        {"HIDDEN": str(folders["hidden"])},
        writable=(folders["own"],),
        hidden=(folders["hidden"], tmp_path / "nowhere"),
    )
    assert outcome.returncode == 0
    assert log.read_text().splitlines() == [f"wrote {folders['own']}", "wrote /dev/shm"]
    assert (folders["own"] / "new").exists()
    assert not Path("/dev/shm/new").exists()
    assert [path.name for path in folders["hidden"].iterdir()] == ["answer"]


def test_a_user_without_rights_is_confined_in_a_user_namespace(tmp_path):
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if os.getuid() != 0 or python is None or shutil.which("setpriv") is None:
        pytest.skip("needs root, setpriv and a Python that every user can start")
    program = tmp_path / "confine.py"
    shutil.copy(confine.__file__, program)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-I", "-S"]
    source = f"import os; os.chdir('/'); exec({program.read_text()!r})"
    probe = subprocess.run(
        [*words, "-c", source, "--probe"], capture_output=True, text=True, check=True, cwd="/"
    )
    if probe.stdout:
        pytest.skip(f"USER NAMESPACES ARE NOT ALLOWED HERE: {probe.stdout}")
    done = subprocess.run(
        [
            *words,
            "-c",
            source,
            '{"writable": [], "hidden": []}',
            "sh",
            "-c",
            "id -u; echo > /tmp/x",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.stdout == "65534\n" and "Read-only file system" in done.stderr


def test_a_system_that_forbids_it_says_why(monkeypatch, capsys):
    def forbidden(*_):
        raise OSError(1, "unshare: Operation not permitted")

    monkeypatch.setattr(confine, "confine", forbidden)
    confine.main(["--probe"])
    assert capsys.readouterr().out == "unshare: Operation not permitted\n"


def test_shared_memory_that_holds_its_files_stays_in_place(folders, tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        (Path(name) / "input").write_text("here")
        places = {"writable": (folders["own"], Path(name)), "own_memory": False}
        outcome = confined(["cat", f"{name}/input"], tmp_path / "log", **places)
    assert (outcome.returncode, (tmp_path / "log").read_text()) == (0, "here")


def test_java_writes_its_temporary_files_into_the_trials_folder(folders, tmp_path):
    try:
        java = find_java()
    except DatasetError as error:
        pytest.skip(f"NO JAVA HERE: {error}")
    log = tmp_path / "log"
    command = [str(java.path / "bin" / "java"), "-XshowSettings:properties", "-version"]
    outcome = confined(
        command, log, make_temporary_folders(folders["own"]), writable=(folders["own"],)
    )
    assert outcome.returncode == 0
    assert f"java.io.tmpdir = {folders['own']}/tmp\n" in log.read_text()
