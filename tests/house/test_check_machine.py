"""`tools/check-machine` on made-up machines: a PATH of scripts that pretend to be programs."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "tools" / "check-machine"
BASIC = ("sh", "id", "uname", "mktemp", "cat", "rm", "head")


@pytest.fixture
def path(tmp_path):
    """A directory to be the whole PATH, with what any POSIX machine has."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in BASIC:
        found = next(p for p in (Path("/usr/bin") / name, Path("/bin") / name) if p.exists())
        (folder / name).symlink_to(found)
    program(folder, "apt-get", "exit 0")
    return folder


def program(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.unlink(missing_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def python(
    folder: Path, name: str = "python3", broken: str = "nothing", seen: str = "3.11"
) -> None:
    """Pretend to be a Python whose check that mentions `broken` fails."""
    body = f'case "$2" in *print*) echo {seen} ;; *{broken}*) exit 1 ;; *) exit 0 ;; esac'
    program(folder, name, body)


def check(
    folder: Path, python: str = "python3", **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CHECK), python],
        env={"PATH": str(folder), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_this_machine_passes_without_a_word():
    done = subprocess.run([str(CHECK), sys.executable], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_machine_with_everything_passes(path):
    python(path)
    program(path, "g++", "exit 0")
    done = check(path)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_old_python_is_reported_with_its_version_and_a_newer_installed_one(path):
    program(path, "g++", "exit 0")
    python(path, broken="version_info", seen="3.9")
    done = check(path)
    assert done.returncode == 1
    assert "python3 is 3.9" in done.stderr
    assert "python3.11-venv" in done.stderr
    python(path, name="python3.12")
    assert "make PYTHON=python3.12" in check(path).stderr


@pytest.mark.parametrize(
    ("broken", "packages"),
    [
        (None, "python3 python3-venv"),
        ("ensurepip", "python3.12-venv"),
        ("Python.h", "python3.12-dev"),
    ],
    ids=["python", "venv", "headers"],
)
def test_a_missing_part_of_python_is_reported_with_the_packages_that_have_it(
    path, broken, packages
):
    program(path, "g++", "exit 0")
    if broken is not None:
        python(path, broken=broken, seen="3.12")
    done = check(path)
    assert done.returncode == 1
    assert f"apt-get install -y {packages}" in done.stderr


def test_a_missing_compiler_names_its_package_also_on_fedora(path):
    python(path)
    assert "apt-get install -y g++" in check(path).stderr
    (path / "apt-get").unlink()
    program(path, "dnf", "exit 0")
    done = check(path)
    assert done.returncode == 1
    assert "dnf install -y gcc-c++" in done.stderr


def test_a_compiler_too_old_for_the_language_shows_its_own_complaint(path):
    python(path)
    program(path, "old++", "echo 'unrecognized option -std=c++20' >&2; exit 1")
    done = check(path, CXX="old++")
    assert done.returncode == 1
    assert "unrecognized option -std=c++20" in done.stderr


def test_everything_that_is_missing_is_named_at_once(path):
    done = check(path)
    assert done.stderr.count("missing:") == 2
    assert done.stderr.count("remedy:") == 2
