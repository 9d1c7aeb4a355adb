"""`lab run --resume` after a full disk, and its refusals."""

import errno
import itertools
import json
import os
import subprocess
import sys

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.lab.runner import run_directory
from streamlab.results.store import read_meta, read_run
from tests.lab.runner.runs import run_lab
from tests.processes import Popen
from tests.results.records import change_meta, store_meta


def test_full_disk_ends_the_run_with_an_error_and_resume_completes_it(
    capsys, matrix, tmp_path, monkeypatch, same_source
):
    real, count = run_directory.write_trial, itertools.count(1)

    def full_at_the_second(run_dir, name, row):
        if next(count) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(run_dir, name, row)

    monkeypatch.setattr("streamlab.lab.runner.run_directory.write_trial", full_at_the_second)
    code, _, err = run_lab(capsys, matrix(["correct"], repetitions=3))
    assert code == EXIT_USER_ERROR
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert "cannot be written: No space left on device; free space, then resume with" in err
    assert f"lab run --resume {run_dir}" in err
    run = read_run(run_dir)
    assert [row.repetition for row in run.rows] == [1]
    assert not run.meta.complete and run.meta.sessions[0].interrupted

    code, _, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_OK, err
    assert [row.repetition for row in read_run(run_dir).rows] == [1, 2, 3]


def test_option_with_a_control_character_does_not_keep_a_run_from_being_resumed(
    capsys, stored_run, same_source
):
    run_dir = stored_run(["correct"], options='{ says = "\\u0001" }')
    change_meta(run_dir, vcs=same_source)
    code, _, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_OK, err


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda meta: meta["vcs"].update(commit="0" * 40), "source revision vcs.commit"),
        (
            lambda meta: meta["settings"].update(idle_s=0.1),
            "matrix settings.idle_s was 0.1, is 0.0 now",
        ),
        (lambda meta: meta["host"].update(cpu_model="abacus"), "host.cpu_model was 'abacus'"),
        (
            lambda meta: meta["cells"]["event_window@small/fake/correct/w1"].update(workers=9),
            ".workers was 9, is 1 now",
        ),
        (lambda meta: meta["datasets"]["event_window@small"].update(id="ff"), "dataset of event_"),
    ],
)
def test_resume_is_refused_when_something_differs_and_names_it(
    capsys, stored_run, same_source, change, named
):
    run_dir = stored_run(["correct"])
    meta = json.loads((run_dir / "run.json").read_text()) | {"vcs": dict(same_source)}
    change(meta)
    store_meta(run_dir, meta)
    code, _, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_USER_ERROR
    assert named in err and "cannot be resumed" in err


def test_a_run_that_another_process_works_on_is_not_resumed(capsys, stored_run, same_source):
    run_dir = stored_run(["correct"])
    change_meta(run_dir, vcs=same_source)
    before = read_meta(run_dir)
    worker = (
        "import sys, pathlib; from streamlab.lab.runner.run_directory import hold\n"
        "with hold(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", worker, str(run_dir)]
    with Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        code, _, err = run_lab(capsys, "--resume", run_dir)
        assert code == EXIT_USER_ERROR
        assert f"is in use by process {other.pid}; wait for it or stop it" in err
        assert read_meta(run_dir) == before
        other.stdin.close()
    assert run_lab(capsys, "--resume", run_dir)[0] == EXIT_OK


def test_resume_with_another_matrix_is_refused(capsys, matrix, stored_run):
    run_dir = stored_run(["correct"])
    code, _, err = run_lab(capsys, matrix(["correct", "lose"], name="n"), "--resume", run_dir)
    assert code == EXIT_USER_ERROR
    assert "matrix cells.event_window@small/fake/lose/w1 is new" in err
