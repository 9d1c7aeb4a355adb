"""The core's benchmark programs are built with the environment's own cmake."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks import ordered_log, program


def stand_in(folder: Path, body: str) -> None:
    folder.mkdir(parents=True)
    cmake = folder / "cmake"
    cmake.write_text(f"#!/bin/sh\n{body}\n")
    cmake.chmod(0o755)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment whose Python is in a folder that is not on PATH."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'system'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    stand_in(tmp_path / "system", "echo the machine has an old one >&2; exit 1")
    return tmp_path


def test_cmake_beside_the_running_python_goes_before_the_machine_s(environment):
    stand_in(environment / "venv", f'echo "$@" >> {environment / "calls"}')
    program.build_program(ordered_log.PROGRAM)
    assert (environment / "calls").read_text().splitlines() == [
        "--preset release",
        "--build --target ordered_log_bench --preset release",
    ]


def test_a_build_that_fails_says_so_without_a_traceback(environment):
    with pytest.raises(SystemExit, match="ordered_log_bench does not build"):
        program.build_program(ordered_log.PROGRAM)


def test_without_any_cmake_the_remedy_is_named(environment, monkeypatch):
    monkeypatch.setenv("PATH", str(environment / "nothing"))
    with pytest.raises(SystemExit, match="remedy: make dependencies"):
        program.build_program(ordered_log.PROGRAM)


def test_a_program_of_somebody_s_own_is_taken_as_it_is(tmp_path):
    own = tmp_path / "own"
    with pytest.raises(SystemExit, match="leave out --program"):
        program.build_program(own)
    own.touch()
    program.build_program(own)
