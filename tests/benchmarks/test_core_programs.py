"""The core's benchmarks: their programs are built with the environment's own cmake, and `make bench` times them."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks import core_programs
from benchmarks.turns import show
from streamlab.engines.multicore import _bench
from streamlab.results.exchange.pytest_benchmark_file import read_pytest_benchmark
from tests.processes import run_python

REPOSITORY = Path(__file__).parents[2]


def stand_in(folder: Path, body: str) -> None:
    folder.mkdir(parents=True)
    cmake = folder / "cmake"
    cmake.write_text(f"#!/bin/sh\n{body}\n")
    cmake.chmod(0o755)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment whose Python is in a folder that is not on PATH."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setattr(core_programs, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'system'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    stand_in(tmp_path / "system", "echo the machine has an old one >&2; exit 1")
    return tmp_path


def test_cmake_beside_the_running_python_goes_before_the_machine_s(environment):
    stand_in(environment / "venv", f'echo "$@" >> {environment / "calls"}')
    core_programs.build("ordered_log")
    assert (environment / "calls").read_text().splitlines() == [
        "--preset release",
        "--build --target ordered_log_bench --preset release",
    ]


def test_a_build_that_fails_says_so_without_a_traceback(environment):
    with pytest.raises(SystemExit, match="ordered_log_bench does not build"):
        core_programs.build("ordered_log")


def test_without_any_cmake_the_remedy_is_named(environment, monkeypatch):
    monkeypatch.setenv("PATH", str(environment / "nothing"))
    with pytest.raises(SystemExit, match="remedy: make dependencies"):
        core_programs.build("ordered_log")


def test_ways_take_turns_and_show_median_lowest_and_highest(capsys):
    calls = []

    def trial(*words):
        calls.append(words)
        return {"eps": 1e6 * len(calls), "cpu_ns": 10.0 * len(calls)}

    show(["a 1", "b 2"], trial, repetitions=3)
    assert calls == [("a", "1"), ("b", "2")] * 3
    assert capsys.readouterr().out.splitlines()[1:] == [
        "a 1  eps 3.0 M (1.0 to 5.0), cpu_ns 30.0 (10.0 to 50.0)",
        "b 2  eps 4.0 M (2.0 to 6.0), cpu_ns 40.0 (20.0 to 60.0)",
    ]


def test_a_structure_of_the_core_is_timed_and_its_file_is_read(tmp_path):
    name = f"benchmarks/test_core.py::test_core[{_bench.names()[0]}]"
    file = tmp_path / "bench.json"
    # A worker of xdist passes its own variables on, and pytest-benchmark times nothing there.
    environ = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    words = ("-m", "pytest", "-n", "0", name, f"--benchmark-json={file}")
    done = run_python(*words, cwd=REPOSITORY, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = read_pytest_benchmark(file).trials[name]
    assert trial.seconds > 0
