"""Counts lines of code: those that do something, without blanks, comments and docstrings.

Of a DGS program also which of them are its parallelization: what it says of dependence, forks and
joins, and the functions that only these call. All else is the sequential program. For the papers'
figures, and for people: `python -m streamlab.lab.figures.lines`.
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
"""What a program is given of its parallelization, by keyword."""
_SEQUENTIAL = "update"
"""Keyword of what an event across keys does: the sequential program does so too."""

Function = ast.FunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Lines of a DGS program: of what it computes, and of what makes it parallel."""

    sequential: int
    parallelization: int


def lines_of(module: ModuleType) -> int:
    """Return how many lines of a module hold code."""
    return len(_code(inspect.getsource(module)))


def parts_of(workload: str) -> Parts:
    """Return the lines of a workload's DGS program, with the modules beside it that it imports."""
    package = f"streamlab.workloads.suite.{workload}"
    source = inspect.getsource(import_module(f"{package}.program"))
    code, tree = _code(source), ast.parse(source)
    beside = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}.")
    }
    parallel = _parallel(tree) & code
    return Parts(
        sequential=len(code - parallel)
        + sum(lines_of(import_module(name)) for name in sorted(filter(None, beside))),
        parallelization=len(parallel),
    )


def programs() -> tuple[str, ...]:
    """Return the workloads of this repository whose program says that it is one with DGS."""
    found = []
    for name in names():
        try:
            module = import_module(f"streamlab.workloads.suite.{name}.program")
        except ModuleNotFoundError:
            continue
        if _calls(ast.parse(inspect.getsource(module))):
            found.append(name)
    return tuple(found)


def table() -> list[str]:
    """Return the lines of every DGS program as a table in Markdown."""
    rows = [
        f"| `{name}` | {parts.sequential} | {parts.parallelization} |"
        for name in programs()
        for parts in [parts_of(name)]
    ]
    return ["| program | sequential | parallelization |", "|---|---|---|", *rows]


def _code(source: str) -> frozenset[int]:
    """Return the numbers of the lines that hold code."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                told |= _span(first)
    return frozenset(
        number
        for number, line in enumerate(source.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#") and number not in told
    )


def _parallel(tree: ast.Module) -> frozenset[int]:
    """Return the numbers of the lines of a program's parallelization, blanks and all."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    said: set[int] = set()
    sequential: set[str] = set()
    parallel: set[str] = set()
    for call in _calls(tree):
        for keyword in call.keywords:
            if keyword.arg not in _PARALLEL:
                sequential |= _named(keyword, functions)
                continue
            said |= _span(keyword)
            of_updates = {
                name
                for node in ast.walk(keyword.value)
                if isinstance(node, ast.keyword) and node.arg == _SEQUENTIAL
                for name in _named(node, functions)
            }
            sequential |= of_updates
            parallel |= _named(keyword, functions) - of_updates
    alone = _reached(parallel, functions) - _reached(sequential, functions)
    return frozenset(said.union(*(_span(functions[name]) for name in alone)))


def _calls(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == _PROGRAM
    ]


def _named(node: ast.AST, functions: Mapping[str, Function]) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in functions}


def _reached(begin: Iterable[str], functions: Mapping[str, Function]) -> set[str]:
    """Return some functions and all that they call, or that is defined in them."""
    found: set[str] = set()
    left = list(begin)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _named(functions[name], functions)
    return found


def _span(node: ast.stmt | ast.keyword) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
