"""Reads expressions over the columns of a row, such as `duration / 60` or `speed > 80 and lane == 2`.

They mean what they mean in Python. The language is small, so that it can be translated: names of columns,
numbers, True, False, `+ - * /`, comparisons, `and`, `or`, `not` and parentheses.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.model.errors import ModelError

TS = "ts"
"""The name of a row's event time in expressions."""

INT, FLOAT, BOOL = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_)
_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.Div
_COMPARISON = ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE
_LANGUAGE = (
    "an expression has columns, numbers, + - * /, comparisons, and, or, not and parentheses; for more, "
    "write a class with add and result"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A checked expression.

    Attributes:
        tree: its syntax tree.
        columns: the columns that it reads, in order of appearance, without `ts`.
        dtype: int64, float64 or bool.
    """

    tree: ast.expr
    columns: tuple[Column, ...]
    dtype: np.dtype[Any]

    def over(self, row: str) -> str:
        """Return Python code of the expression over the record `row`."""
        return ast.unparse(_OverRow(row).visit(ast.parse(ast.unparse(self.tree), mode="eval").body))


class _OverRow(ast.NodeTransformer):
    def __init__(self, row: str) -> None:
        self._row = row

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Attribute(ast.Name(self._row, ast.Load()), node.id, ast.Load())


def parse_expression(text: object, find: Callable[[str], Column], place: str) -> Expression:
    """Return an expression over the columns that `find` returns; it raises for an unknown one.

    Raises:
        ModelError: it is no expression of the language, or reads a column of texts as a number.
    """
    if not isinstance(text, str) or not text.strip():
        raise ModelError(f"{place} is {text!r:.60}; give a text; {_LANGUAGE}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ModelError(f"{place} is {text!r}, which is no expression: {error.msg}") from None
    columns: dict[str, Column] = {}
    for name in _names(tree):
        if name != TS:
            columns[name] = find(name)
    checker = _Types(columns, f"{place}, {text!r}")
    return Expression(tree=tree, columns=tuple(columns.values()), dtype=checker.of(tree))


def _names(tree: ast.expr) -> Iterator[str]:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    yield from dict.fromkeys(n.id for n in sorted(names, key=lambda node: node.col_offset))


class _Types:
    """Derives the type of an expression."""

    def __init__(self, columns: Mapping[str, Column], place: str) -> None:
        self._columns, self._place = columns, place

    def of(self, node: ast.expr) -> np.dtype[Any]:
        if isinstance(node, ast.Name):
            return self._of_column(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return BOOL if isinstance(node.value, bool) else np.dtype(type(node.value))
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            both = {self._number(node.left), self._number(node.right)}
            return FLOAT if isinstance(node.op, ast.Div) or FLOAT in both else INT
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._number(node.operand)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.of(node.operand)
            return BOOL
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                self._condition(part)
            return BOOL
        if isinstance(node, ast.Compare) and all(isinstance(op, _COMPARISON) for op in node.ops):
            for part in (node.left, *node.comparators):
                self.of(part)
            return BOOL
        raise ModelError(f"{self._place}: {ast.unparse(node)} is not understood; {_LANGUAGE}")

    def _of_column(self, name: str) -> np.dtype[Any]:
        if name == TS:
            return INT
        column = self._columns[name]
        if column.dictionary is not None:
            raise ModelError(
                f"{self._place}: column {name} holds texts, which have no numbers; use it as a key, in "
                "distinct(...) or as a column of the output"
            )
        return BOOL if column.dtype == BOOL else FLOAT if column.dtype.kind == "f" else INT

    def _number(self, node: ast.expr) -> np.dtype[Any]:
        dtype = self.of(node)
        return INT if dtype == BOOL else dtype

    def _condition(self, node: ast.expr) -> None:
        if self.of(node) != BOOL:
            raise ModelError(
                f"{self._place}: {ast.unparse(node)} is a number where a condition is expected; "
                f"compare it, such as {ast.unparse(node)} > 0"
            )
