"""Reads expressions over the columns of a row, such as `duration / 60` or `speed > 80 and lane == 2`.

The language is small, so that it can be translated: names of columns, numbers, texts to compare with, True, False,
`+ - * /`, comparisons, `in`, `and`, `or`, `not` and parentheses. Their meaning is as in Python, except that
every engine agrees on the values:

- Whole numbers have 64 bits; larger numbers are refused.
- `/` and a comparison with a float take whole numbers as floats. A division by zero gives inf, -inf or NaN.
- A text stands for its number in the dictionary of the column that it is compared with.
"""

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.widths import divide, int64

TS = "ts"
"""The name of a row's event time in expressions."""

INT, FLOAT, BOOL = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_)
HELPERS: Mapping[str, object] = {"divide": divide, "int64": int64}
"""The functions that the code of an expression calls."""

_ROW = "t"
_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.Div
_COMPARISON = ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE
_LANGUAGE = (
    "an expression has columns, numbers, texts to compare with, + - * /, comparisons, in (...), and, or, not "
    "and parentheses; for more, write a class with add and result"
)


class Columns(Protocol):
    """The columns that an expression can read."""

    def find(self, name: str) -> Column:
        """Return a column; raises `ModelError` if it is unknown."""

    def number_of(self, column: Column, text: str) -> int:
        """Return the number of a text in a column's dictionary."""

    @property
    def are_finite(self) -> bool:
        """Whether no float is NaN or infinite, as in all inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A checked expression.

    Attributes:
        text: the expression without `in`, and with numbers in place of texts.
        code: Python code over the record `t`, which calls HELPERS.
        columns: the columns that it reads, in order of appearance, without `ts`.
        dtype: int64, float64 or bool.
        may_be_nan: whether its value can be NaN.
    """

    text: str
    code: str
    columns: tuple[Column, ...]
    dtype: np.dtype[Any]
    may_be_nan: bool


def parse_expression(text: object, columns: Columns, place: str) -> Expression:
    """Return a checked expression.

    Raises:
        ModelError: it is not an expression of the language, or reads a column of texts as a number.
    """
    if not isinstance(text, str) or not text.strip():
        raise ModelError(f"{place} is {text!r:.60}; give a text; {_LANGUAGE}")
    try:
        tree = parse_paths(text.strip())
    except SyntaxError as error:
        raise ModelError(f"{place} is {text!r}, which is not an expression: {error.msg}") from None
    read = {name: columns.find(name) for name in _names(tree) if name != TS}
    part = _Reader(read, columns, f"{place}, {text!r}").read(tree)
    plain = ast.unparse(part.tree)
    floats = {name for name, column in read.items() if column.dtype.kind == "f"}
    nan = part.dtype == FLOAT and may_be_nan(part.tree, () if columns.are_finite else floats)
    return Expression(
        text=plain,
        code=ast.unparse(part.code),
        columns=tuple(read.values()),
        dtype=part.dtype,
        may_be_nan=nan,
    )


def parse_paths(text: str) -> ast.expr:
    """Return the tree of an expression, in which a path, such as `left.price` in a join, is a name."""
    tree: ast.expr = _Paths().visit(ast.parse(text, mode="eval").body)
    return tree


class _Paths(ast.NodeTransformer):
    """Turns paths, such as `left.price` in a join, into names."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name):
            return node
        return ast.copy_location(ast.Name(f"{node.value.id}.{node.attr}", ast.Load()), node)


def _names(tree: ast.expr) -> Iterator[str]:
    """Yield the distinct names in an expression, in order of appearance."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    yield from dict.fromkeys(n.id for n in sorted(names, key=lambda node: node.col_offset))


_FINITE, _INFINITE, _NAN = range(3)
"""Classes of the values that an expression can have. Each class includes the values of the class before."""


def may_be_nan(node: ast.expr, doubtful: "frozenset[str] | set[str] | tuple[str, ...]") -> bool:
    """Return whether an expression of type float can be NaN; `doubtful` are the columns that can."""
    return _largest_class(node, doubtful) == _NAN


def _largest_class(node: ast.expr, doubtful: "frozenset[str] | set[str] | tuple[str, ...]") -> int:
    """Return the class of an expression's possible values: `_FINITE`, `_INFINITE` or `_NAN`."""
    if isinstance(node, ast.Name):
        return _NAN if node.id in doubtful else _FINITE
    if isinstance(node, ast.Constant):
        return _INFINITE if node.value == math.inf else _FINITE
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _largest_class(node.operand, doubtful)
    if not isinstance(node, ast.BinOp):
        return _FINITE
    left, right = _largest_class(node.left, doubtful), _largest_class(node.right, doubtful)
    if isinstance(node.op, ast.Div):
        divisor = constant_of(node.right)
        if divisor is None or abs(divisor) == math.inf:
            return _NAN
        return left if abs(divisor) >= 1 else max(left, _INFINITE)
    return _INFINITE if left == right == _FINITE else _NAN


def constant_of(node: ast.expr) -> int | float | bool | None:
    """Return the value of an expression; None if it has columns or divides by zero."""
    if any(isinstance(part, ast.Name) for part in ast.walk(node)):
        return None
    tree = ast.fix_missing_locations(ast.Expression(node))
    try:
        value: int | float | bool = eval(compile(tree, "<constant>", "eval"), {"__builtins__": {}})
    except ArithmeticError:
        return None
    return value


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: its tree in the language, its Python code, and its type."""

    tree: ast.expr
    code: ast.expr
    dtype: np.dtype[Any]


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def _as_float(part: _Part) -> ast.expr:
    """Return the code of a part, converted to a float."""
    if part.dtype == FLOAT:
        return part.code
    value = constant_of(part.tree)
    return _call("float", part.code) if value is None else ast.Constant(float(value))


class _Reader:
    """Checks an expression, and derives its type and code."""

    def __init__(self, read: Mapping[str, Column], columns: Columns, place: str) -> None:
        self._read, self._columns, self._place = read, columns, place

    def read(self, node: ast.expr) -> _Part:
        """Return the checked part for a node; raises `ModelError` if it is not in the language."""
        if isinstance(node, ast.Name):
            return self._column(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            dtype = BOOL if isinstance(node.value, bool) else np.dtype(type(node.value))
            return self._check_range(_Part(node, node, dtype))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            raise ModelError(
                f"{self._place}: {node.value!r} is a text where a number is expected; compare a column of texts "
                f"with it, such as station == {node.value!r}"
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            return self._arithmetic(node, node.op)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            part = self._number(node.operand)
            return self._check_range(
                _Part(ast.UnaryOp(node.op, part.tree), ast.UnaryOp(node.op, part.code), part.dtype)
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            part = self.read(node.operand)
            return _Part(ast.UnaryOp(node.op, part.tree), ast.UnaryOp(node.op, part.code), BOOL)
        if isinstance(node, ast.BoolOp):
            parts = [self._condition(each) for each in node.values]
            return self._boolean(node.op, parts)
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        raise ModelError(f"{self._place}: {ast.unparse(node)} is not understood; {_LANGUAGE}")

    def _column(self, node: ast.Name) -> _Part:
        code = ast.Attribute(ast.Name(_ROW, ast.Load()), node.id, ast.Load())
        if node.id == TS:
            return _Part(node, code, INT)
        column = self._read[node.id]
        if column.dictionary is not None:
            raise ModelError(
                f"{self._place}: column {node.id} holds texts, which have no numbers; compare it with a text in "
                "quotes, or use it as a key, in distinct(...) or as a column of the output; of numbers, give the table "
                f"decimal=',' or types={{'{node.id}': float}}"
            )
        dtype = BOOL if column.dtype == BOOL else FLOAT if column.dtype.kind == "f" else INT
        return _Part(node, code, dtype)

    def _arithmetic(self, node: ast.BinOp, op: ast.operator) -> _Part:
        left, right = self._number(node.left), self._number(node.right)
        tree = ast.BinOp(left.tree, op, right.tree)
        if not isinstance(op, ast.Div):
            dtype = FLOAT if FLOAT in (left.dtype, right.dtype) else INT
            return self._check_range(_Part(tree, ast.BinOp(left.code, op, right.code), dtype))
        divisor = constant_of(right.tree)
        if divisor == 0:
            raise ModelError(f"{self._place}: {ast.unparse(node)} divides by zero")
        operands = _as_float(left), _as_float(right)
        if divisor is None:
            return _Part(tree, _call("divide", *operands), FLOAT)
        return _Part(tree, ast.BinOp(operands[0], op, operands[1]), FLOAT)

    def _check_range(self, part: _Part) -> _Part:
        """Return a part whose code refuses whole numbers beyond 64 bits."""
        if part.dtype != INT:
            return part
        value = constant_of(part.tree)
        if value is None:
            return _Part(part.tree, _call("int64", part.code), INT)
        if not -(1 << 63) < value < 1 << 63:
            raise ModelError(
                f"{self._place}: {ast.unparse(part.tree)} is beyond 64 bits; write it as a float, such as "
                f"{float(value)!r}"
            )
        return part

    def _number(self, node: ast.expr) -> _Part:
        """Return the part for a node as a number; a condition counts as a whole number."""
        part = self.read(node)
        return _Part(part.tree, part.code, INT) if part.dtype == BOOL else part

    def _condition(self, node: ast.expr) -> _Part:
        part = self.read(node)
        if part.dtype != BOOL:
            raise ModelError(
                f"{self._place}: {ast.unparse(node)} is a number where a condition is expected; "
                f"compare it, such as {ast.unparse(node)} > 0"
            )
        return part

    def _boolean(self, op: ast.boolop, parts: list[_Part]) -> _Part:
        if len(parts) == 1:
            return parts[0]
        trees, codes = [part.tree for part in parts], [part.code for part in parts]
        return _Part(ast.BoolOp(op, trees), ast.BoolOp(op, codes), BOOL)

    def _comparison(self, node: ast.Compare) -> _Part:
        sides = [node.left, *node.comparators]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        return self._boolean(ast.And(), [self._pair(*pair, node) for pair in pairs])

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr, complete: ast.Compare) -> _Part:
        """Return the comparison of two sides, a part of the chain of comparisons `complete`."""
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
                raise ModelError(
                    f"{self._place}: {ast.unparse(complete)}: `in` needs a list of values, such as `in (1, 2)`"
                )
            comparison, connective = (
                (ast.Eq(), ast.Or()) if isinstance(op, ast.In) else (ast.NotEq(), ast.And())
            )
            values = [self._pair(left, comparison, value, complete) for value in right.elts]
            return self._boolean(connective, values)
        if not isinstance(op, _COMPARISON):
            raise ModelError(
                f"{self._place}: {ast.unparse(complete)} is not understood; {_LANGUAGE}"
            )
        for column, text in ((left, right), (right, left)):
            if self._holds_texts(column) or (
                isinstance(text, ast.Constant) and isinstance(text.value, str)
            ):
                return self._text_pair(column, op, text, complete)
        parts = self._number(left), self._number(right)
        tree = ast.Compare(parts[0].tree, [op], [parts[1].tree])
        is_float = FLOAT in (parts[0].dtype, parts[1].dtype)
        codes = [_as_float(part) if is_float else part.code for part in parts]
        return _Part(tree, ast.Compare(codes[0], [op], [codes[1]]), BOOL)

    def _holds_texts(self, node: ast.expr) -> bool:
        column = self._read.get(node.id) if isinstance(node, ast.Name) else None
        return column is not None and column.dictionary is not None

    def _text_pair(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, complete: ast.Compare
    ) -> _Part:
        """Return the comparison of a column with a text as a comparison of numbers."""
        place = f"{self._place}: {ast.unparse(complete)}"
        text = right.value if isinstance(right, ast.Constant) else None
        if not isinstance(left, ast.Name) or not self._holds_texts(left):
            raise ModelError(
                f"{place}: {ast.unparse(left)} holds no texts; compare it with a number, or declare its type "
                "(types={...: str})"
            )
        if not isinstance(text, str):
            raise ModelError(
                f"{place}: column {left.id} holds texts; compare it with a text in quotes, such as "
                f"{left.id} == 'Broadway'"
            )
        if not isinstance(op, ast.Eq | ast.NotEq):
            raise ModelError(
                f"{place}: texts have no order; compare them by ==, != or in ('a', 'b')"
            )
        number = ast.Constant(self._columns.number_of(self._read[left.id], text))
        code = ast.Attribute(ast.Name(_ROW, ast.Load()), left.id, ast.Load())
        return _Part(ast.Compare(left, [op], [number]), ast.Compare(code, [op], [number]), BOOL)
