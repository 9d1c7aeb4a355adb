"""Tells what a function does: by its source where that is there, or by its bytecode.

Bytecode is another in every version of Python; the syntax tree of the source is not.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Place = tuple[str, int]
"""A function's name and first line, or its first decorator's. Lambdas may share one."""

_EMPTY = "Constant(value='')"


def compiled(code: CodeType) -> Iterator[bytes]:
    """Yield what tells a function by its bytecode."""
    yield code.co_code
    yield code.co_exceptiontable
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    yield repr((code.co_names, code.co_varnames, code.co_freevars, counts)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from compiled(constant)
        elif isinstance(constant, frozenset):  # its order hangs on the hashes of texts
            yield repr(sorted(map(repr, constant))).encode()
        else:
            yield repr(constant).encode()


def written(code: CodeType) -> Iterator[bytes]:
    """Yield what tells a function by its syntax tree, without place and comments.

    Its bytecode tells it where the source is not there, or is not what runs: a file that has been
    edited since, which shows because it is compiled again here.
    """
    try:
        known = _functions(Path(code.co_filename).read_bytes())
        runs = list(compiled(code))
        alike = known[code.co_name, code.co_firstlineno]
        text = next(_text(node) for node, found in alike if list(compiled(found)) == runs)
        yield repr((__debug__, text)).encode()
    except (OSError, SyntaxError, ValueError, LookupError, StopIteration, RecursionError):
        yield from compiled(code)


@lru_cache(maxsize=256)
def _functions(source: bytes) -> dict[_Place, list[tuple[_Function, CodeType]]]:
    """Return the functions of a source by place, each as a tree and as code."""
    tree = ast.parse(source)
    there = [(_place(node), node) for node in ast.walk(tree) if isinstance(node, _Function)]
    codes, times = _by_place(tree), Counter(at for at, _ in there)
    found = {at: [(node, code) for code in codes[at]] for at, node in there}
    alike = [(at, node) for at, node in there if times[at] > 1]
    for number, (at, node) in enumerate(alike, 1):  # outer ones first; each to lines of its own
        ast.increment_lineno(node, number * len(source) - node.lineno)
        found[at] = []
    codes = _by_place(tree) if alike else {}
    for at, node in alike:
        found[at] += [(node, code) for code in codes[_place(node)]]
    return found


def _place(node: _Function) -> _Place:
    if isinstance(node, ast.Lambda):
        return "<lambda>", node.lineno
    return node.name, min(part.lineno for part in (node, *node.decorator_list))


def _by_place(tree: ast.Module) -> dict[_Place, list[CodeType]]:
    found = defaultdict(list)
    for code in _within(compile(tree, "", "exec", dont_inherit=True)):
        found[code.co_name, code.co_firstlineno].append(code)
    return found


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)


def _text(node: object) -> str:
    """Return a syntax tree as text, without what only some versions of Python have.

    That is fields which are empty, and empty texts within f-strings (3.12).
    """
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({[_text(part) for part in node.values if _text(part) != _EMPTY]})"
    if isinstance(node, ast.AST):
        held = [(n, value) for n, value in ast.iter_fields(node) if value is not None]
        parts = (f"{name}={_text(value)}" for name, value in held if value != [])
        return f"{type(node).__name__}({', '.join(parts)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_text, node))}]"
    return repr(node)
