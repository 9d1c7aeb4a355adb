"""Where datasets and runs lie."""

from pathlib import Path

import pytest

from lab.doctor.places import places
from lab.host.machine import Machine
from workloads.places import catalogue, runs

ROOT = Path(__file__).parents[2]


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
