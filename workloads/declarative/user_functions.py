"""Reads the source of a user's functions: the columns that they read, and their results.

A `result` function returns a dictionary, and a function of a flat map yields dictionaries; compiled code can do
neither. The functions are therefore compiled again with `out.emit(...)` in place of `return {...}` and `yield {...}`,
at the same lines of the same file.
"""

import ast
import inspect
import linecache
import types
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from textwrap import dedent
from types import MappingProxyType
from typing import Any

from streamlab.workloads.model.errors import ModelError

OUT = "out_"
"""The name of the emitter in a rewritten function."""
_ROWS = "rows_"
"""The variable that counts the rows of a call in a rewritten function."""
_SAMPLED_ROWS = 64
"""Number of rows that `call_once` takes from a generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFunction:
    """A function of the user with its syntax tree; `where` names it in messages."""

    function: types.FunctionType
    tree: ast.FunctionDef | ast.Lambda
    where: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(argument.arg for argument in self.tree.args.args)

    def place(self, node: ast.AST) -> str:
        """Return the place of a part of the function, for messages."""
        return f"{self.where} ({self.function.__code__.co_filename}:{getattr(node, 'lineno', 0)})"

    def attributes(self, parameter: str) -> dict[str, ast.Attribute]:
        """Return the attributes of a parameter that the function uses, each with its first use."""
        uses: dict[str, ast.Attribute] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and _is_name(node.value, parameter):
                uses.setdefault(node.attr, node)
        return dict(sorted(uses.items(), key=lambda use: (use[1].lineno, use[1].col_offset)))

    def other_use(self, parameter: str) -> ast.AST | None:
        """Return a use of a parameter that does not read one of its attributes."""
        bases = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(self.tree):
            if _is_name(node, parameter) and id(node) not in bases:
                return node
        return None


def read_function(function: object, where: str, parameters: int) -> UserFunction:
    """Return a function with its syntax tree.

    Raises:
        ModelError: it is not a plain function, has another number of parameters, or its source is missing.
    """
    function = getattr(function, "py_func", function)
    if not isinstance(function, types.FunctionType):
        raise ModelError(f"{where} is {function!r:.60}; write it as a function (def {where}...)")
    code = function.__code__
    place = f"{where} ({code.co_filename}:{code.co_firstlineno})"
    linecache.checkcache(code.co_filename)
    try:
        text = dedent(inspect.getsource(function))
        tree = _definition(text, function.__name__)
    except (OSError, SyntaxError, TypeError):
        raise ModelError(
            f"{place}: its source cannot be read, and the columns of a declared workload are found there; "
            "write it in a file, a lambda on one line"
        ) from None
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    user = UserFunction(function=function, tree=tree, where=where)
    arguments = tree.args
    extra = arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults
    if len(user.parameters) != parameters or extra:
        raise ModelError(
            f"{place} has the parameters ({', '.join(user.parameters)}{', ...' if extra else ''}); "
            f"it must have {parameters}"
        )
    return user


def _definition(text: str, name: str) -> ast.FunctionDef | ast.Lambda:
    """Return the definition in a function's source; raises `SyntaxError` without a clear one."""
    try:
        tree: ast.AST = ast.parse(text)
    except SyntaxError:  # a lambda in the middle of a call
        tree = ast.parse(text[text.index("lambda") :].rstrip().rstrip(",)"), mode="eval")
    kind = ast.Lambda if name == "<lambda>" else ast.FunctionDef
    definitions = [node for node in ast.walk(tree) if isinstance(node, kind)]
    if not definitions or (kind is ast.Lambda and len(definitions) > 1):
        raise SyntaxError("no single definition")
    return definitions[0]


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def returned_names(user: UserFunction) -> tuple[str, ...]:
    """Return the keys of the dictionary that a function returns.

    Raises:
        ModelError: it returns something else, or several dictionaries with different keys.
    """
    returns = [node for node in ast.walk(user.tree) if isinstance(node, ast.Return)]
    values = [node.value for node in returns if node.value and not _is_none(node.value)]
    return _names(user, values, "return", '{"rides": self.count}, or None for no output')


def yielded_names(user: UserFunction) -> tuple[str, ...]:
    """Return the keys of the dictionaries that a function yields, each in a separate statement.

    Raises:
        ModelError: it yields something else, or dictionaries with different keys, or returns a value.
    """
    statements = [node.value for node in ast.walk(user.tree) if isinstance(node, ast.Expr)]
    values = []
    for node in ast.walk(user.tree):
        if isinstance(node, ast.Return) and node.value is not None:
            raise ModelError(
                f"{user.place(node)}: returns {ast.unparse(node.value):.60}; yield each row: "
                'yield {"station": ride.station}'
            )
        if isinstance(node, ast.Yield | ast.YieldFrom):
            if isinstance(node, ast.YieldFrom) or node not in statements or node.value is None:
                raise ModelError(
                    f"{user.place(node)}: {ast.unparse(node):.60} is not a row; write a statement such as "
                    'yield {"station": ride.station} for each row'
                )
            values.append(node.value)
    return _names(user, values, "yield", '{"station": ride.station}')


def _names(
    user: UserFunction, values: Sequence[ast.expr], verb: str, example: str
) -> tuple[str, ...]:
    """Return the keys of the dictionaries `values`; raises `ModelError` unless all have the same texts as keys."""
    names: tuple[str, ...] | None = None
    for node in values:
        keys = _literal_keys(node)
        if keys is None or (names is not None and keys != names):
            expected = "a dictionary" if names is None else f"one with the keys {', '.join(names)}"
            raise ModelError(
                f"{user.place(node)}: {verb}s {ast.unparse(node):.60}; {verb} {expected}, written "
                f"with its keys as texts, such as {verb} {example}"
            )
        names = keys
    if not names:
        raise ModelError(
            f"{user.place(user.tree)} {verb}s no dictionary; {verb} the output columns by name, such as "
            f"{verb} {example}"
        )
    return names


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _literal_keys(node: ast.expr) -> tuple[str, ...] | None:
    """Return the keys of a dictionary in the source; None unless they are different texts in quotes."""
    if not isinstance(node, ast.Dict) or not node.keys:
        return None
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
    if len(keys) != len(node.keys) or not all(isinstance(key, str) for key in keys):
        return None
    return tuple(str(key) for key in keys) if len(set(keys)) == len(keys) else None


def make_emitting(
    user: UserFunction,
    prefix: Sequence[str],
    replaced: Mapping[str, str],
    further_parameters: Sequence[str],
    *,
    most: int | None = None,
) -> types.FunctionType:
    """Return the function with `out_.emit(*prefix, *values)` in place of each returned or yielded dictionary.

    Args:
        user: a function of one parameter, whose `returned_names` or `yielded_names` are valid.
        prefix: expressions that are emitted first.
        replaced: expressions for attributes of the parameter, by name.
        further_parameters: names of parameters before the last parameter `out_`.
        most: the most rows that a call may emit; further rows raise an error. None means no bound.
    """
    tree = deepcopy(user.tree)
    assert isinstance(tree, ast.FunctionDef), "a method of a class is a definition"
    parameter = user.parameters[0]
    rewritten = _Rewriter(parameter, prefix, replaced, most).visit(tree)
    if most is not None:
        rewritten.body[:0] = statements_at(f"{_ROWS} = 0", tree)
    rewritten.decorator_list = []
    rewritten.returns = None
    rewritten.args.args = [ast.arg(name) for name in (parameter, *further_parameters, OUT)]
    return compile_like(user.function, rewritten)


def statements_at(text: str, place: ast.AST) -> list[ast.stmt]:
    """Return the statements of a text, with the line of the node `place`."""
    statements = ast.parse(text).body
    for statement in statements:
        for part in ast.walk(statement):
            ast.copy_location(part, place)
    return statements


class _Rewriter(ast.NodeTransformer):
    """Makes the replacements of `make_emitting`."""

    def __init__(
        self,
        parameter: str,
        prefix: Sequence[str],
        replaced: Mapping[str, str],
        most: int | None,
    ) -> None:
        self._parameter, self._prefix, self._replaced = parameter, prefix, replaced
        self._most = most

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        if node.value is None or _is_none(node.value):
            return [ast.copy_location(ast.Return(None), node)]
        return [*self._emit(node, node.value), ast.copy_location(ast.Return(None), node)]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        if isinstance(node.value, ast.Yield) and node.value.value is not None:
            return self._emit(node, node.value.value)
        self.generic_visit(node)
        return node

    def _emit(self, node: ast.stmt, row: ast.expr) -> list[ast.stmt]:
        """Return the statements that emit a row and, with `most`, count it, at the line of `node`."""
        values = self.visit(row).values
        count: list[ast.stmt] = []
        if self._most is not None:
            message = f"yields more than {self._most} rows for one; raise most={self._most}"
            check = f"if {_ROWS} == {self._most}:\n    raise ValueError({message!r})"
            count = statements_at(f"{check}\n{_ROWS} += 1", node)
        emit = ast.Attribute(ast.Name(OUT, ast.Load()), "emit", ast.Load())
        first = [ast.parse(text, mode="eval").body for text in self._prefix]
        call = ast.Expr(ast.Call(emit, [*first, *values], []))
        for part in ast.walk(call):
            if not hasattr(part, "lineno") or part in first:
                ast.copy_location(part, node)
        return [*count, call]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if _is_name(node.value, self._parameter) and node.attr in self._replaced:
            return ast.copy_location(ast.parse(self._replaced[node.attr], mode="eval").body, node)
        return node


def compile_like(
    function: types.FunctionType,
    tree: ast.FunctionDef,
    names: Mapping[str, object] = MappingProxyType({}),
) -> types.FunctionType:
    """Compile a definition with the file, globals and closure of a function, and with further names."""
    free_names = (*function.__code__.co_freevars, *names)
    module = ast.Module([tree], [])
    if free_names:  # an enclosing definition makes these variables free again
        outer_module = ast.parse(f"def around_({', '.join(free_names)}):\n    return {tree.name}")
        definition = outer_module.body[0]
        assert isinstance(definition, ast.FunctionDef), "as written above"
        definition.body.insert(0, tree)
        module = outer_module
    ast.fix_missing_locations(module)
    code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    inner = _code_named(code, tree.name)
    assert inner is not None, "the module defines it"
    cells = dict(zip(free_names, function.__closure__ or (), strict=False))
    cells |= {name: types.CellType(value) for name, value in names.items()}
    closure = tuple(cells[name] for name in inner.co_freevars)
    return types.FunctionType(inner, function.__globals__, function.__name__, None, closure)


def _code_named(code: types.CodeType, name: str) -> types.CodeType | None:
    """Return the code of the function `name` inside other code; None if it is not there."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name:
                return constant
            nested_code = _code_named(constant, name)
            if nested_code is not None:
                return nested_code
    return None


def call_once(function: Callable[..., Any], *arguments: Any) -> list[dict[str, object]]:
    """Return the dictionary that a function returns, or the first ones that it yields, until it raises an error."""
    rows = []
    try:
        value = function(*arguments)
        for row in islice(value, _SAMPLED_ROWS) if inspect.isgenerator(value) else [value]:
            rows.append(row)
    except Exception:  # the arguments are invented; the user's function may refuse them
        pass
    return [row for row in rows if isinstance(row, dict)]
