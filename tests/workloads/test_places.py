"""The default folders of datasets, runs and caches."""

import os
import stat
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.doctor.places import places
from streamlab.lab.host.machine import Machine
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.spark_session import spark_refusal, spark_session
from streamlab.workloads.default_folders import cache_folder, catalogue, runs

ROOT = Path(__file__).parents[2]
CACHES = ("LAB_CACHE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR")


def nobody(uid):
    """Look up a user in a system that knows none."""
    raise KeyError(uid)


@pytest.fixture(autouse=True)
def user(tmp_path, monkeypatch):
    """A user who has set nothing but XDG_DATA_HOME."""
    for name in ("LAB_DATA", "LAB_RUNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path / "share" / "lab"


def folder(path):
    path.mkdir(parents=True)
    return path


def test_it_is_the_same_place_whatever_folder_one_stands_in(user, tmp_path, monkeypatch):
    # A folder called data or results may be anything.
    for here in (folder(tmp_path / "a" / "data"), folder(tmp_path / "b" / "results" / "runs")):
        monkeypatch.chdir(here.parents[0])
        assert (catalogue().path, runs().path) == (user / "data", user / "runs")


def test_without_xdg_data_home_it_is_below_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given in ("", "relative/is/ignored"):
        monkeypatch.setenv("XDG_DATA_HOME", given)
        assert runs().path == tmp_path / "home" / ".local" / "share" / "lab" / "runs"


def test_in_a_checkout_of_the_lab_it_is_the_checkouts(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert (catalogue().path, runs().path) == (Path("data"), Path("results/runs"))
    monkeypatch.chdir(ROOT / "docs")
    assert (catalogue().path, runs().path) == (ROOT / "data", ROOT / "results" / "runs")
    assert str(ROOT) in runs().why


def test_the_variables_win_everywhere(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", "d")
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "r"))
    for here in (ROOT, tmp_path):
        monkeypatch.chdir(here)
        assert (catalogue().path, runs().path) == (Path("d"), tmp_path / "r")


def test_the_doctor_names_the_places(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = places(Machine())
    assert found.state == "ok"
    assert f"datasets in {user / 'data'}" in found.seen and f"runs in {user / 'runs'}" in found.seen
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "file" / "runs"))
    assert "LAB_RUNS" in places(Machine()).remedy


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """A user without a home folder and without a name, as containers have; returns their TMPDIR."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", *CACHES):
        monkeypatch.setenv(name, "")  # so that it is as before at the end, set or not
        monkeypatch.delenv(name)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("home", [None, "", "relative/home"])
def test_without_a_home_a_command_names_the_variables(homeless, monkeypatch, capsys, home):
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert call(["list", "runs"]) == EXIT_USER_ERROR
    error = capsys.readouterr().err
    assert all(name in error for name in ("HOME", "LAB_DATA", "LAB_RUNS")) and "Trace" not in error
    assert "set HOME" in places(Machine()).remedy


def test_without_a_home_caches_lie_among_the_temporary_files_for_all_processes(
    homeless, monkeypatch
):
    monkeypatch.setenv("LAB_RUNS", str(homeless / "runs"))
    assert call(["list", "runs"]) == EXIT_OK
    folder = homeless / f"lab-{os.getuid()}"
    assert cache_folder() == folder and stat.S_IMODE(folder.stat().st_mode) == 0o700
    found = [Path(os.environ[name]) for name in CACHES]
    assert found == [folder, folder / "numba", folder / "matplotlib"]


def test_a_cache_that_cannot_be_written_is_reported_and_another_one_used(
    homeless, monkeypatch, capsys
):
    (homeless / "file").touch()
    monkeypatch.setenv("LAB_CACHE", str(homeless / "file" / "cache"))
    monkeypatch.setenv("LAB_RUNS", str(homeless / "runs"))
    assert call(["list", "runs"]) == EXIT_OK
    assert f"LAB_CACHE={homeless}/file/cache cannot be written" in capsys.readouterr().err
    assert cache_folder().is_relative_to(homeless) and cache_folder().is_dir()


def test_another_users_folder_is_no_cache(homeless, monkeypatch):
    theirs = homeless / "theirs"
    theirs.mkdir(mode=0o700)
    link = homeless / f"lab-{os.getuid()}"
    link.symlink_to(theirs)
    assert cache_folder() == link  # our own link to our own folder
    theirs.chmod(0o777)
    assert not cache_folder().resolve().is_relative_to(theirs)


def test_a_removed_folder_is_no_defect_of_the_lab(tmp_path, monkeypatch, capsys):
    gone = folder(tmp_path / "gone")
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert call(["list", "runs"]) == EXIT_USER_ERROR
    assert "the current folder was removed" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)


def test_spark_refuses_a_user_without_a_name(monkeypatch):
    assert spark_refusal() is None
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert "/etc/passwd" in spark_refusal()
    with pytest.raises(DatasetError, match="has no name"):
        spark_session("test", conf={})
