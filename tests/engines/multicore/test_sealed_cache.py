"""The cache of kernels: what is damaged is compiled again."""

import os
import random
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.kernels import compile as compiling
from streamlab.engines.multicore.kernels.sealed_cache import vector_bits
from streamlab.workloads.suite.event_window.program import PROGRAM
from tests.engines.multicore import kernel_samples
from tests.engines.multicore.kernel_samples import FORK_JOIN, join_kernel, summing

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded no kernel yet."""
    monkeypatch.setattr(compiling, "_loaded", {})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel cache of its own, with one kernel in it."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    assert not comes_from_cache()
    assert comes_from_cache()
    return tmp_path


def comes_from_cache() -> bool:
    """Make a kernel; return whether it was read and not compiled."""
    compiling._loaded.clear()
    return bool(join_kernel().cache_hits)


def test_a_process_loads_a_kernel_once_and_another_place_of_the_cache_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = join_kernel()
    assert join_kernel() is kept
    monkeypatch.setenv("LAB_CACHE", str(cache / "another"))
    assert join_kernel() is not kept


def only_kernel(cache: Path) -> Path:
    (path,) = cache.rglob("*.kernel")
    return path


def flip_bit(seed: int, content: bytes) -> bytes:
    flipped = bytearray(content)
    bit = random.Random(seed).randrange(len(content) * 8)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


@pytest.mark.parametrize(
    "damage",
    [*(partial(flip_bit, seed) for seed in range(5)), lambda _: b"", lambda _: bytes(1000)],
)
def test_a_damaged_kernel_is_replaced(cache: Path, damage: Callable[[bytes], bytes]):
    path = only_kernel(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert not comes_from_cache()
    assert comes_from_cache()


def test_a_kernel_that_cannot_be_stored_only_costs_compiling(cache: Path):
    path = only_kernel(cache)
    path.unlink()
    path.mkdir()
    assert not comes_from_cache()
    assert not comes_from_cache()
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_damaged_sources_in_the_cache_do_not_matter(cache: Path):
    """They are there for Numba, which names files by them; code comes from this process."""
    (source,) = cache.rglob("*.py")
    source.write_text("raise RuntimeError\n")
    assert comes_from_cache()


def test_a_kernel_from_the_cache_has_the_vectors_that_it_was_compiled_with(tmp_path, monkeypatch):
    """Numba shows no machine code of what it loads; it warns and returns something else."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    widths = []
    for _ in range(2):
        compiling._loaded.clear()
        kernel = summing()
        widths.append((bool(kernel.cache_hits), vector_bits(kernel)))
    (first, compiled), (second, loaded) = widths
    assert (first, second) == (False, True)
    assert loaded == compiled > 0


def test_a_width_that_was_not_requested_is_read_at_its_first_request(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    assert summing(width=False).cache_hits == 0
    compiling._loaded.clear()
    assert vector_bits(summing()) > 0


@pytest.mark.full
def test_another_process_finds_the_kernels_of_every_family(tmp_path: Path):
    def kernels_after_a_run_of_each() -> set[str]:
        command = [sys.executable, "-m", "tests.random_runs", "--runs", "5", "--seed", "5"]
        environment = {**os.environ, "LAB_CACHE": str(tmp_path)}
        subprocess.run(command, check=True, capture_output=True, env=environment, cwd=ROOT)
        return {path.name for path in tmp_path.rglob("*.kernel")}

    made = kernels_after_a_run_of_each()
    assert len(made) > 5
    assert kernels_after_a_run_of_each() == made


def test_another_clone_finds_the_kernels_of_this_one(tmp_path: Path):
    clones = [tmp_path / "one", tmp_path / "other"]
    for clone in clones:
        for package in ("streamlab", "engines", "tests", "workloads"):
            shutil.copytree(ROOT / package, clone / package, symlinks=True)
        shutil.copy(_core.__file__, clone / "engines" / "multicore")
    script = (
        "from tests.engines.multicore import kernel_samples as kernels;"
        "print(kernels.__file__, bool(kernels.join_kernel().cache_hits))"
    )
    packages = sysconfig.get_path("purelib")

    def file_and_hit(root: Path) -> list[str]:
        """Run without the editable install (-S), which would find the packages of this clone."""
        environment = {
            **os.environ,
            "LAB_CACHE": str(tmp_path / "cache"),
            "PYTHONPATH": f"{root}:{packages}",
        }
        command = [sys.executable, "-S", "-c", script]
        ran = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
        )
        return ran.stdout.split()

    file = Path(kernel_samples.__file__).relative_to(ROOT)
    for clone, hit in zip(clones, ("False", "True"), strict=True):
        assert file_and_hit(clone) == [str(clone / file), hit]


def test_a_function_that_moved_in_its_file_is_compiled_again(tmp_path: Path, monkeypatch):
    """An error would name the line where it stood before."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))

    def lines_above(count: int) -> bool:
        text = "#\n" * count + "def join(first, second, state):\n    state.sum = first.sum\n"
        made: dict[str, Any] = {}
        exec(compile(text, str(tmp_path / "own.py"), "exec"), made)
        pair = replace(FORK_JOIN, join=made["join"])
        compiling._loaded.clear()
        kernels = Kernels(replace(PROGRAM, parallel=(pair,)))
        assert kernels.join(pair) != 0
        (kernel,) = kernels._compiled.values()
        return bool(kernel.cache_hits)

    assert [lines_above(count) for count in (0, 0, 6, 6)] == [False, True, False, True]
