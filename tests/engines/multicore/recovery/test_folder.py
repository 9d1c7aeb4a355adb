"""The content of a checkpoint folder after writes, damage and crashes."""

import errno
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys

import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.recovery import folder as module
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.format import Identity
from tests.engines.multicore.recovery.checkpoint_folders import (
    IDENTITY,
    ROW,
    recover,
    write_checkpoints,
)
from tests.engines.multicore.recovery.small_runs import KILLED, forked

THEIRS = Identity(name="event_window", program="q" * 64, data="d" * 32)


def names(path):
    return sorted(one.name for one in path.iterdir())


def test_the_last_two_checkpoints_stay_and_a_run_resumes_from_the_newest(tmp_path):
    write_checkpoints(tmp_path / "new", [b"1111", b"22223333", b""])
    assert names(tmp_path / "new") == [
        "checkpoint-00000001",
        "checkpoint-00000002",
        "lock",
        "outputs.rows",
    ]
    found, rows = recover(tmp_path / "new")
    assert found.checkpoint.positions == (2,)
    assert found.checkpoint.joined.states == b"\2" * 8
    assert not found.refused
    assert rows == b"111122223333"


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def of_the_future(path):
    data = bytearray(path.read_bytes())
    data[8] += 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "harm, why", [(flip, "checksum"), (truncate, "truncated"), (of_the_future, "version 3")]
)
def test_where_the_newest_is_refused_the_one_before_is_used_and_its_outputs(harm, why, tmp_path):
    write_checkpoints(tmp_path, [b"1111", b"2222", b"3333"])
    harm(tmp_path / "checkpoint-00000002")
    found, rows = recover(tmp_path)
    assert found.checkpoint.positions == (1,)
    assert len(found.refused) == 1
    assert "checkpoint-00000002 is refused: it" in found.refused[0]
    assert why in found.refused[0]
    assert rows == (tmp_path / "outputs.rows").read_bytes() == b"11112222"
    write_checkpoints(tmp_path, [b"4444"])
    found, rows = recover(tmp_path)
    assert found.checkpoint.number == 3  # above the one that was refused
    assert rows == b"111122224444"


def test_files_of_other_names_are_let_be(tmp_path):
    write_checkpoints(tmp_path, [b"1111", b"2222"])
    newest = tmp_path / "checkpoint-00000001"
    copies = [newest.with_name(newest.name + suffix) for suffix in (".bak", "~", "\n")]
    for copy in (*copies, tmp_path / "checkpoint-9"):
        shutil.copy(newest, copy)
    write_checkpoints(tmp_path, [b"3333", b"4444", b"5555"])
    found, rows = recover(tmp_path)
    assert found.checkpoint.number == 4
    assert not found.refused
    assert rows == b"11112222333344445555"
    assert all(copy.exists() for copy in copies)


def test_numbers_of_nine_digits_sort_after_numbers_of_eight(tmp_path):
    write_checkpoints(tmp_path, [b"1111"])
    (tmp_path / "checkpoint-00000000").replace(tmp_path / "checkpoint-99999999")
    write_checkpoints(tmp_path, [b"2222"])
    assert {"checkpoint-99999999", "checkpoint-100000000"} <= set(names(tmp_path))
    found, rows = recover(tmp_path)
    assert found.checkpoint.number == 100_000_000
    assert rows == b"11112222"


def test_without_a_readable_checkpoint_the_run_begins_anew(tmp_path):
    write_checkpoints(tmp_path, [b"1111", b"2222"])
    flip(tmp_path / "checkpoint-00000000")
    flip(tmp_path / "checkpoint-00000001")
    found, rows = recover(tmp_path)
    assert found.checkpoint is None
    assert len(found.refused) == 2
    assert rows == b""


@pytest.mark.parametrize(
    "harm, why",
    [
        (lambda path: path.unlink(), "outputs.rows is missing"),
        (truncate, "outputs.rows lacks the last 1 bytes"),
        (flip, "outputs.rows changed after the checkpoint"),
    ],
)
def test_a_checkpoint_whose_outputs_were_changed_is_refused(harm, why, tmp_path):
    write_checkpoints(tmp_path, [b"1111", b"2222"])
    harm(tmp_path / "outputs.rows")
    found, _ = recover(tmp_path)
    assert why in found.refused[0]
    assert (found.checkpoint is None) == ("missing" in why)


def test_a_folder_of_another_run_is_refused_and_left_as_it_is(tmp_path):
    write_checkpoints(tmp_path, [b"1111", b"2222"], THEIRS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(EngineError, match=r"of another program .*; use another checkpoint folder"):
        recover(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_in_which_another_process_runs_is_refused(tmp_path):
    folder = CheckpointFolder(tmp_path, IDENTITY, ROW)
    with pytest.raises(EngineError, match="another process runs in it"):
        CheckpointFolder(tmp_path, IDENTITY, ROW)
    folder.close()
    CheckpointFolder(tmp_path, IDENTITY, ROW).close()


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EngineError, match=r"cannot be opened: (File exists|Not a directory)"):
        CheckpointFolder(tmp_path / "file", IDENTITY, ROW)


def without_rights(path):
    os.setuid(65534)
    try:
        CheckpointFolder(path / "new", IDENTITY, ROW)
    except EngineError as error:
        sys.exit(0 if "Permission denied" in str(error) else str(error))
    sys.exit("it was opened")


@pytest.mark.skipif(
    os.geteuid() != 0, reason="A FOLDER WITHOUT RIGHTS IS NOT TESTED: root gives up its own"
)
def test_a_folder_without_rights_is_refused(tmp_path):
    tmp_path.chmod(0o755)
    process = forked(without_rights, tmp_path)
    process.join()
    assert process.exitcode == 0


SYNCS = 3
"""The parts of a checkpoint: outputs, file, folder."""


def killed_at(path, step, rows):
    """Write checkpoints, and die at a step of that."""
    left = [step]

    def counted(call):
        def instead(*given, **named):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return instead

    module.os.fsync = counted(os.fsync)
    module.os.fdatasync = counted(os.fdatasync)
    module.Path.replace = counted(module.Path.replace)
    module.Path.unlink = counted(module.Path.unlink)
    write_checkpoints(path, rows)


def test_a_kill_at_any_step_of_writing_loses_nothing_that_a_checkpoint_has(tmp_path):
    rows = [b"1111", b"2222", b"3333", b"4444"]
    step = kills = 0
    while True:
        path = tmp_path / str(step)
        process = forked(killed_at, path, step, rows)
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == KILLED
        kills += 1
        found, kept = recover(path)
        assert not found.refused
        done = 0 if found.checkpoint is None else found.checkpoint.positions[0] + 1
        assert kept == b"".join(rows[:done])
        write_checkpoints(path, rows[done:])
        assert recover(path)[1] == b"".join(rows)
        step += 1
    assert kills >= len(rows) * (SYNCS + 1)


def written_with_room(path, rows, room, said):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    folder = CheckpointFolder(path, IDENTITY, ROW)
    try:
        folder.write(rows, (0,), "a plan", None)
    except EngineError as error:
        said.put(str(error))
    folder.close()


@pytest.mark.parametrize("room", [0, 10])
def test_a_folder_without_room_for_outputs_is_closed_without_them(room, tmp_path):
    text = multiprocessing.get_context("fork").Queue()
    process = forked(written_with_room, tmp_path, b"12345678" * 2, room, text)
    process.join()
    assert process.exitcode == 0
    assert "cannot be written to: File too large" in text.get()
    assert recover(tmp_path)[1] == b""
    write_checkpoints(tmp_path, [b"1111"])
    assert recover(tmp_path)[1] == b"1111"


def test_a_file_system_without_locks_is_an_error_of_the_folder(tmp_path, monkeypatch):
    def without(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(module.fcntl, "flock", without)
    with pytest.raises(EngineError, match="cannot be locked: No locks available"):
        CheckpointFolder(tmp_path, IDENTITY, ROW)


FULL_DISK = """
import subprocess, sys
from pathlib import Path
from streamlab.engines.errors import EngineError
from tests.engines.multicore.recovery.checkpoint_folders import recover, write_checkpoints

path = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], check=True)
try:
    write_checkpoints(path, [b"1111", b"2222", bytes(1 << 20)])
except EngineError as error:
    print(error)
found, rows = recover(path)
assert found.checkpoint.positions == (1,), found
assert rows == b"11112222", rows
write_checkpoints(path, [b"4444"])
assert recover(path)[1] == b"111122224444"
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="A FULL DISK IS NOT TESTED: mounting a small one needs root and unshare",
)
def test_a_full_disk_is_an_error_that_leaves_the_last_checkpoint(tmp_path):
    command = "unshare", "--mount", "--propagation", "private", sys.executable, "-c", FULL_DISK
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot be written to: No space left on device" in done.stdout
    assert "free space" in done.stdout
