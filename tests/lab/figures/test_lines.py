"""Lines of code: what does something, and which of it is a DGS program's parallelization."""

import ast
from pathlib import Path

import pytest

from streamlab.lab.figures.lines import _code_lines, _parallel_lines, parts_of, programs, table

SOURCE = '''\
"""A program."""

import numpy as np

KIND = 0  # the only one


def depends(a, b):
    """Say what depends."""
    return False


def update(state, event, out):
    # Adds.
    add(state, event.value)


def add(state, value):
    state.sum += value


def part(state, into):
    into.sum = state.sum


def fork(state, pred1, pred2, first, second):
    part(state, first)


def join(first, second, state):
    add(state, first.sum)


def group(key):
    return key // 4


PROGRAM = DGSProgram(
    name="sums",
    depends=depends,
    states=(StateType(name="sum", update=update),),
    parallel=(
        ForkJoin(fork=fork, join=join),
    ),
    across=(Across(group=group, update=update),),
)
'''


def test_dependence_forks_and_joins_alone_are_the_parallelization():
    code = _code_lines(SOURCE)
    lines = SOURCE.splitlines()
    parallel = _parallel_lines(ast.parse(SOURCE)) & code
    text = "\n".join(lines[number - 1] for number in sorted(parallel))
    assert [line for line in text.splitlines() if line.startswith("def ")] == [
        "def depends(a, b):",
        "def part(state, into):",
        "def fork(state, pred1, pred2, first, second):",
        "def join(first, second, state):",
        "def group(key):",
    ]
    # Two lines of each function, and five of the program's.
    assert len(parallel) == 5 * 2 + 5
    assert len(code) == 25  # no blanks, comments, docstrings


@pytest.mark.parametrize("name", ["outlier_detection", "smart_home", "event_window"])
def test_a_program_has_both_parts_and_they_are_its_lines(name):
    source = Path(f"workloads/suite/{name}/program.py").read_text(encoding="utf-8")
    parts = parts_of(name)
    assert 0 < parts.parallelization < parts.sequential
    beside = Path(f"workloads/suite/{name}/features.py")
    more = len(_code_lines(beside.read_text(encoding="utf-8"))) if beside.exists() else 0
    assert parts.sequential + parts.parallelization == len(_code_lines(source)) + more


def test_every_program_with_dgs_is_counted():
    assert {"event_window", "outlier_detection", "smart_home"} <= set(programs())
    assert "wordcount" not in programs()


def test_the_document_has_the_table_as_it_is_counted():
    text = Path("docs/figures.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in text, "python -m streamlab.lab.figures.lines says otherwise"
