"""Counts lines of code, without blank lines, comments and docstrings.

For DGS programs it also counts the lines of the parallelization: dependence, forks, joins, and
functions that only the parallelization calls. All other lines are the sequential program.
The papers' figures use it; `python -m streamlab.lab.figures.lines` prints a table.
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from streamlab.workloads.registry import names

_PROGRAM = "DGSProgram"
_PARALLEL = ("depends", "parallel", "across")
"""Keyword arguments of a program that define its parallelization."""
_SEQUENTIAL = "update"
"""Keyword of the update for events across keys; the update is also part of the sequential program."""

Function = ast.FunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Line counts of a DGS program: of its sequential program and of its parallelization."""

    sequential: int
    parallelization: int


def lines_of(module: ModuleType) -> int:
    """Return the number of lines of code in a module."""
    return len(_code_lines(inspect.getsource(module)))


def parts_of(workload: str) -> Parts:
    """Count the lines of a workload's DGS program and of the modules it imports from its package."""
    package = f"streamlab.workloads.suite.{workload}"
    source = inspect.getsource(import_module(f"{package}.program"))
    code, tree = _code_lines(source), ast.parse(source)
    siblings = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}.")
    }
    parallel = _parallel_lines(tree) & code
    return Parts(
        sequential=len(code - parallel)
        + sum(lines_of(import_module(name)) for name in sorted(filter(None, siblings))),
        parallelization=len(parallel),
    )


def programs() -> tuple[str, ...]:
    """Return the workloads of this repository with a DGS program."""
    workloads = []
    for name in names():
        try:
            module = import_module(f"streamlab.workloads.suite.{name}.program")
        except ModuleNotFoundError:
            continue
        if _calls(ast.parse(inspect.getsource(module))):
            workloads.append(name)
    return tuple(workloads)


def table() -> list[str]:
    """Return the line counts of every DGS program as a Markdown table."""
    rows = [
        f"| `{name}` | {parts.sequential} | {parts.parallelization} |"
        for name in programs()
        for parts in [parts_of(name)]
    ]
    return ["| program | sequential | parallelization |", "|---|---|---|", *rows]


def _code_lines(source: str) -> frozenset[int]:
    """Return the numbers of the lines with code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings |= _line_range(first)
    return frozenset(
        number
        for number, line in enumerate(source.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#") and number not in docstrings
    )


def _parallel_lines(tree: ast.Module) -> frozenset[int]:
    """Return the line numbers of a program's parallelization, including blank lines."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    parallel_lines: set[int] = set()
    sequential: set[str] = set()
    parallel: set[str] = set()
    for call in _calls(tree):
        for keyword in call.keywords:
            if keyword.arg not in _PARALLEL:
                sequential |= _used_functions(keyword, functions)
                continue
            parallel_lines |= _line_range(keyword)
            updates = {
                name
                for node in ast.walk(keyword.value)
                if isinstance(node, ast.keyword) and node.arg == _SEQUENTIAL
                for name in _used_functions(node, functions)
            }
            sequential |= updates
            parallel |= _used_functions(keyword, functions) - updates
    only_parallel = _reachable(parallel, functions) - _reachable(sequential, functions)
    return frozenset(
        parallel_lines.union(*(_line_range(functions[name]) for name in only_parallel))
    )


def _calls(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == _PROGRAM
    ]


def _used_functions(node: ast.AST, functions: Mapping[str, Function]) -> set[str]:
    return {
        name.id for name in ast.walk(node) if isinstance(name, ast.Name) and name.id in functions
    }


def _reachable(begin: Iterable[str], functions: Mapping[str, Function]) -> set[str]:
    """Return the functions reachable from some functions by calls or nested definitions."""
    reachable: set[str] = set()
    queue = list(begin)
    while queue:
        name = queue.pop()
        if name not in reachable:
            reachable.add(name)
            queue += _used_functions(functions[name], functions)
    return reachable


def _line_range(node: ast.stmt | ast.keyword) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
