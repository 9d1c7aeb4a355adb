"""Starts of runs at the same moment."""

import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamlab.lab.errors import LabError
from streamlab.lab.runner import run_directory
from streamlab.results.meta import RunMeta

META = RunMeta(name="same")


@pytest.fixture
def one_second(monkeypatch):
    """All runs of the test begin in one second."""

    class Stopped(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    monkeypatch.setattr(run_directory, "datetime", Stopped)


def test_runs_that_begin_in_one_second_have_directories_of_their_own(
    tmp_path, one_second, monkeypatch
):
    """All threads stand just before their first directory is made, then go on together."""
    runs, rounds = 4, 25
    for number in range(rounds):
        root = tmp_path / str(number)
        barrier = threading.Barrier(runs)
        arrived = threading.local()
        mkdir = Path.mkdir

        def together(path, *args, arrived=arrived, barrier=barrier, mkdir=mkdir, **kwargs):
            if path.name.endswith("-same") and not hasattr(arrived, "here"):
                arrived.here = True
                barrier.wait(timeout=60)
            return mkdir(path, *args, **kwargs)

        monkeypatch.setattr(Path, "mkdir", together)
        with ThreadPoolExecutor(runs) as pool:
            made = list(pool.map(run_directory.RunDirectory.create, [root] * runs, [META] * runs))
        monkeypatch.setattr(Path, "mkdir", mkdir)
        stem = "20260102T030405Z-same"
        assert {run.path.name for run in made} == {stem, *(f"{stem}-{k}" for k in range(1, runs))}
        for run in made:
            assert {"run.json", "trials", "logs"} <= {inner.name for inner in run.path.iterdir()}


def test_a_run_that_cannot_be_written_removes_only_its_own_directory(
    tmp_path, one_second, monkeypatch
):
    first = run_directory.RunDirectory.create(tmp_path, META)

    def full(path, meta):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_directory, "write_meta", full)
    with pytest.raises(LabError, match="same-1: cannot create the run directory: No space left"):
        run_directory.RunDirectory.create(tmp_path, META)
    assert list(tmp_path.iterdir()) == [first.path]


def test_a_folder_of_runs_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="file: cannot create the run directory"):
        run_directory.RunDirectory.create(tmp_path / "file", META)
