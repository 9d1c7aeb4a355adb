"""Instruction counts repeat exactly, show planted work, and name missing tools."""

import fcntl
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import instructions
from benchmarks.instructions import CountError, main, write
from streamlab.engines.multicore import _bench
from streamlab.lab.gate.instructions import Counts, differing, read_counts
from tests.too_long import SHARED_S

ROOT = Path(__file__).parents[2]
QUICK = "parker_notify"

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None,
    reason="INSTRUCTIONS ARE NOT COUNTED: valgrind is missing; apt-get install -y valgrind",
)
needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None
    or shutil.which("cmake", path=str(Path(sys.executable).parent)) is None
    or not (ROOT / "build" / "core" / "CMakeCache.txt").exists(),
    reason="THE BENCHMARKS ARE NOT BUILT: no compiler, no CMake or no core that `make setup` built",
)


@pytest.fixture
def folder(built, request):
    """The path of core_bench; the time of its build does not count for the first test."""
    request.node.stash[SHARED_S] = built.pop("took_s", 0.0)
    return built["folder"]


@pytest.fixture(scope="module")
def built():
    """Build core_bench where that of the C++ tests is, by one process at a time.

    It links with the core that the set-up has built. `make instructions` builds its own, with flags
    that its baseline names; here any will do.
    """
    begin_s = time.monotonic()
    build = ROOT / "build" / "installed"
    build.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with (build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for step in (["--preset"], ["--build", "--target", "core_bench", "--preset"]):
            instructions._output(
                ["cmake", *step, "installed"], cwd=ROOT, env={**os.environ, "PATH": path}
            )
    folder = (build / instructions.PROGRAM).parent
    return {"folder": folder, "took_s": time.monotonic() - begin_s}


def count(folder, name=QUICK, plant=0.0):
    return instructions._count_one(shutil.which("valgrind"), folder, name, plant)


@needs_compiler
@needs_valgrind
def test_counts_repeat_exactly_whatever_the_environment_and_the_place(
    folder, tmp_path, monkeypatch
):
    first = count(folder)
    monkeypatch.setenv("PADDING", "x" * 5000)
    elsewhere = tmp_path / ("a" * 100)
    shutil.copytree(folder, elsewhere)
    assert [count(folder), count(elsewhere)] == [first, first]


@needs_compiler
@needs_valgrind
@pytest.mark.parametrize("name", [QUICK, "block_ring_hand_over"])
def test_planted_work_shows_in_the_count_to_a_tenth_of_a_percent(folder, name):
    assert count(folder, name, plant=5) / count(folder, name) == pytest.approx(1.05, abs=0.001)


@needs_compiler
def test_unknown_benchmarks_and_bad_sizes_are_refused_by_name(folder):
    for arguments, message in (
        (["nosuch"], "no benchmark 'nosuch'; there are block_ring_hand_over"),
        ([QUICK, "--n", "0"], "n is 0, expected at least 1"),
        ([QUICK, "--n", "many"], "--n is 'many', expected a number"),
        ([QUICK, "--plant", "-1"], "--plant needs a percentage"),
    ):
        with pytest.raises(CountError, match="ended with code 2") as error:
            instructions._output([f"./{instructions.PROGRAM.name}", *arguments], cwd=folder)
        assert message in str(error.value)


def test_missing_valgrind_is_an_error_that_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--out", str(tmp_path / "counts.json")]) == instructions.FAILED
    assert "missing: valgrind; remedy: apt-get install -y valgrind" in capsys.readouterr().err


def test_counts_survive_their_file_and_only_those_of_another_compiler_are_not_comparable(tmp_path):
    counts = Counts(compiler="c++ 1", flags="-O2", valgrind="valgrind-3", counts={"a": 1})
    write(counts, tmp_path / "new" / "counts.json")
    assert read_counts(tmp_path / "new" / "counts.json") == counts
    assert differing(counts, replace(counts, counts={"a": 2})) == []
    assert differing(counts, replace(counts, compiler="c++ 2")) == [
        "compiler was 'c++ 1', is 'c++ 2'"
    ]


def test_the_baseline_has_every_benchmark_and_its_counting_tool():
    baseline = read_counts(ROOT / "results" / "baselines" / "instructions.json")
    assert set(baseline.counts) == set(_bench.names())
    assert all(count > 1_000_000 for count in baseline.counts.values())
    assert baseline.valgrind.startswith("valgrind-") and "-O2" in baseline.flags
