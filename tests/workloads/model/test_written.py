"""The hash of code is that of its source, which other versions of Python read alike."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamlab.workloads.model.code import source as module
from streamlab.workloads.model.code.fingerprint import code_of
from streamlab.workloads.references import load
from streamlab.workloads.registry import workload
from tests.processes import run_python

SOURCE = '''
from __future__ import annotations
import functools

def plain(x: int = 3, *rest, y=None, **more):
    """A docstring."""
    assert x, f"{x!r:>{y}} and {x + 1}"
    inner = [(a, b) for a in range(x) for b in rest if a < b]
    def deeper(z): return lambda: z + inner[0]
    try:
        with open(y) as file:
            return {**more, "a": 1.5, "b": {1, 2}}, deeper, file
    except* ValueError:
        pass

@functools.cache
def cached(x):
    match x:
        case [1, *_]: return -0.0
    return not x or (yield)

class Kind:
    def method(self): return super().method()

BOTH = [lambda a: 0, lambda a: 1], [lambda a, b=1: a if b else None, lambda: (lambda: 0)]
'''
TELL = """
import hashlib, pathlib, runpy, sys
source_identity = runpy.run_path(sys.argv[1])["source_identity"]
found = {}
exec(compile(pathlib.Path(sys.argv[2]).read_text(), sys.argv[2], "exec"), found)
functions = found["plain"], found["cached"].__wrapped__, found["Kind"].method
for function in (*functions, *found["BOTH"][0], *found["BOTH"][1], found["BOTH"][1][1]()):
    told = b"".join(source_identity(function.__code__))
    print(told.startswith(b"(True"), hashlib.sha256(told).hexdigest())
"""


def told(python: str, file: Path) -> list[str]:
    command = [python, "-c", TELL, str(module.__file__), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source.py"
    file.write_text(SOURCE)
    return file


def test_the_hash_of_functions_is_of_their_source_even_on_a_shared_line(source: Path):
    here = told(sys.executable, source)
    assert all(line.startswith("True ") for line in here)
    assert len(set(here)) == len(here)


def other_pythons() -> list[str]:
    ask = "import sys; assert sys.version_info >= (3, 11); print(*sys.version_info[:2])"
    here, found = "{} {}".format(*sys.version_info[:2]), []
    for name in (f"python3.{minor}" for minor in range(11, 20)):
        path = shutil.which(name)
        said = path and subprocess.run([path, "-c", ask], capture_output=True, text=True)
        if path and said and said.returncode == 0 and said.stdout.strip() != here:
            found.append(path)
    return found


def test_every_version_of_python_tells_a_function_alike(source: Path):
    others = other_pythons()
    if not others:
        pytest.skip("no Python of another version, 3.11 or newer, is on PATH")
    for other in others:
        assert told(other, source) == told(sys.executable, source)


def test_code_that_versions_of_python_compile_differently_has_one_hash():
    # Without docstrings the same source gives other constants, as it does in another version.
    names = ("scale_join", "nyse_hedge", "items_sold_together", "longest_tweet_per_hashtag")
    script = (
        "import sys\nfrom streamlab.workloads.model.code.fingerprint import code_of\n"
        "from streamlab.workloads.registry import workload\n"
        "print(*(code_of(workload(name)) for name in sys.argv[1:]))"
    )
    without_asserts, without_docstrings = (
        run_python(flag, "-B", "-c", script, *names, check=True).stdout.split()
        for flag in ("-O", "-OO")
    )
    assert without_asserts == without_docstrings
    assert without_asserts != [code_of(workload(name)) for name in names]  # asserts are no comments


def test_code_is_that_of_what_runs_when_its_file_has_been_edited(tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text("def WORKLOAD(x):\n    return x + 1\n")
    first = load(str(file))
    before = code_of(first)
    file.write_text("def WORKLOAD(x):\n    return x + 2\n")
    second = load(str(file))
    assert len({before, code_of(second)}) == 2
    assert code_of(first) not in (code_of(second), before)  # by its bytecode from now on
    file.unlink()
    assert code_of(first) != code_of(second)
