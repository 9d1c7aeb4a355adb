"""A damaged kernel is compiled again: it is neither run nor an error."""

import random
from pathlib import Path

import pytest

from engines.multicore.dgs.kernels import Kernels
from engines.multicore.kernels.vector_bits import vector_bits
from workloads.suite.event_window.program import PROGRAM

FORK_JOIN = PROGRAM.parallel[0]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel cache of its own, with one kernel in it."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    assert not comes_from_cache()
    assert comes_from_cache()
    return tmp_path


def comes_from_cache() -> bool:
    """Make a kernel; return whether it was read and not compiled."""
    kernels = Kernels(PROGRAM)
    assert kernels.join(FORK_JOIN) != 0
    (made,) = kernels._compiled.values()
    return bool(made.cache_hits)


def only_kernel(cache: Path) -> Path:
    (path,) = cache.rglob("*.kernel")
    return path


@pytest.mark.parametrize("seed", range(5))
def test_a_flipped_bit_is_noticed(cache: Path, seed: int):
    path = only_kernel(cache)
    content = bytearray(path.read_bytes())
    bit = random.Random(seed).randrange(len(content) * 8)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    assert not comes_from_cache()
    assert comes_from_cache()


@pytest.mark.parametrize("content", [b"", b"short", bytes(1000)])
def test_what_is_no_kernel_is_replaced(cache: Path, content: bytes):
    only_kernel(cache).write_bytes(content)
    assert not comes_from_cache()
    assert comes_from_cache()


def test_a_kernel_that_cannot_be_kept_only_costs_compiling(cache: Path):
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
    kernels = [Kernels(PROGRAM), Kernels(PROGRAM)]
    widths = []
    for made in kernels:
        made.fork(FORK_JOIN)
        (kernel,) = made._compiled.values()
        widths.append((bool(kernel.cache_hits), vector_bits(kernel)))
    (first, compiled), (second, loaded) = widths
    assert (first, second) == (False, True)
    assert loaded == compiled
