"""Identifies functions by their source, or by their bytecode if the source is missing.

Bytecode differs between Python versions; the syntax tree of the source does not.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Place = tuple[str, int]
"""A function's name and its first line, or the line of its first decorator. Lambdas may share a place."""

_EMPTY = "Constant(value='')"

_HOME = Path(__file__).parents[4]
"""The folder that contains the lab's packages: a checkout, or `site-packages`."""


@lru_cache(maxsize=4096)
def display_path(file: str) -> str:
    """Return a file's path for error messages: relative to the lab's folder if inside it.

    Compiled functions contain the locations that their errors name. With absolute paths, a cached
    kernel of one clone would name wrong locations in another.
    """
    return Path(file).relative_to(_HOME).as_posix() if Path(file).is_relative_to(_HOME) else file


def bytecode_identity(code: CodeType) -> Iterator[bytes]:
    """Yield the identity of a function by its bytecode."""
    yield code.co_code
    yield code.co_exceptiontable
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    yield repr((code.co_names, code.co_varnames, code.co_freevars, counts)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from bytecode_identity(constant)
        elif isinstance(constant, frozenset):  # its order depends on the hashes of strings
            yield repr(sorted(map(repr, constant))).encode()
        else:
            yield repr(constant).encode()


def source_identity(code: CodeType) -> Iterator[bytes]:
    """Yield the identity of a function by its syntax tree, without place and comments.

    Falls back to the bytecode if the source is missing or differs from the running code, as in a file
    that was edited later. Compiling the source again reveals the difference.
    """
    try:
        functions = _functions(Path(code.co_filename).read_bytes())
        running = list(bytecode_identity(code))
        candidates = functions[code.co_name, code.co_firstlineno]
        text = next(_text(node) for node, c in candidates if list(bytecode_identity(c)) == running)
        yield repr((__debug__, text)).encode()
    except (OSError, SyntaxError, ValueError, LookupError, StopIteration, RecursionError):
        yield from bytecode_identity(code)


@lru_cache(maxsize=256)
def _functions(source: bytes) -> dict[_Place, list[tuple[_Function, CodeType]]]:
    """Return the functions of a source by place, each as a tree and as code."""
    tree = ast.parse(source)
    nodes = [(_place_of(node), node) for node in ast.walk(tree) if isinstance(node, _Function)]
    codes, counts = _by_place(tree), Counter(place for place, _ in nodes)
    functions = {place: [(node, code) for code in codes[place]] for place, node in nodes}
    shared = [(place, node) for place, node in nodes if counts[place] > 1]
    # Move functions that share a place to distinct lines, outer ones first, and compile again.
    for number, (place, node) in enumerate(shared, 1):
        ast.increment_lineno(node, number * len(source) - node.lineno)
        functions[place] = []
    codes = _by_place(tree) if shared else {}
    for place, node in shared:
        functions[place] += [(node, code) for code in codes[_place_of(node)]]
    return functions


def _place_of(node: _Function) -> _Place:
    if isinstance(node, ast.Lambda):
        return "<lambda>", node.lineno
    return node.name, min(part.lineno for part in (node, *node.decorator_list))


def _by_place(tree: ast.Module) -> dict[_Place, list[CodeType]]:
    codes = defaultdict(list)
    for code in _nested_code(compile(tree, "", "exec", dont_inherit=True)):
        codes[code.co_name, code.co_firstlineno].append(code)
    return codes


def _nested_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested_code(constant)


def _text(node: object) -> str:
    """Return a syntax tree as text that is the same in all Python versions.

    Leaves out empty fields, and empty strings within f-strings (3.12).
    """
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({[_text(part) for part in node.values if _text(part) != _EMPTY]})"
    if isinstance(node, ast.AST):
        fields = [(n, value) for n, value in ast.iter_fields(node) if value is not None]
        parts = (f"{name}={_text(value)}" for name, value in fields if value != [])
        return f"{type(node).__name__}({', '.join(parts)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_text, node))}]"
    return repr(node)
