"""Derives the types of the columns that a user's `result` returns, or that the function of a flat map yields.

The type of an expression follows from the types of the fields that it reads. Where that is not clear, as for a call of
another function, the user's function is called with a few values.
"""

import ast
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from streamlab.workloads.declarative.expressions import BOOL, FLOAT, INT
from streamlab.workloads.declarative.user_functions import UserFunction, call_once
from streamlab.workloads.model.errors import ModelError

_SAMPLES = ((3, 7.5), (1, 1.0), (2, 0.25), (1_000, 1e6), (0, 0.0))
"""Values of integer and float fields with which functions are called."""

_CALLS = {"int": INT, "float": FLOAT, "bool": BOOL, "len": INT}
_OF_ARGUMENTS = ("min", "max", "abs", "round")
"""Functions whose result has the widest type of their arguments."""

Type = np.dtype[Any]


def result_types(user: UserFunction, fields: Mapping[str, Type]) -> dict[str, Type]:
    """Return the type of each column of the dictionaries that a function returns or yields.

    Args:
        user: a function of one parameter.
        fields: the types of the attributes of the parameter.

    Raises:
        ModelError: the type of a column is not clear.
    """
    reader = TypeReader(user.tree, {user.parameters[0]: fields})
    kinds: dict[str, set[Type | None]] = {}
    for node in ast.walk(user.tree):
        if isinstance(node, ast.Return | ast.Yield) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                assert isinstance(key, ast.Constant), "returned_names has checked it"
                kinds.setdefault(str(key.value), set()).add(reader.read(value))
    if any(None in column_types for column_types in kinds.values()):
        for name, sampled in _sample_types(user, fields).items():
            if None in kinds.get(name, ()):
                kinds[name] = (kinds[name] - {None}) | sampled if sampled else kinds[name]
    types = {}
    for name, column_types in kinds.items():
        widest = _widest(column_types)
        if widest is None:
            raise ModelError(
                f"{user.place(user.tree)}: the type of {name} is not clear; give int(...), float(...) or "
                "bool(...) for it"
            )
        types[name] = widest
    return types


def _sample_types(user: UserFunction, fields: Mapping[str, Type]) -> dict[str, set[Type | None]]:
    """Call a function with a few values; return the types that occur in each column of its results."""
    kinds: dict[str, set[Type | None]] = {}
    for whole, fraction in _SAMPLES:
        values = {INT: whole, FLOAT: fraction, BOOL: bool(whole)}
        sample = SimpleNamespace(
            **{n: values[d] if d in values else _array(d) for n, d in fields.items()}
        )
        for row in call_once(user.function, sample):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_value_type(value))
    return kinds


def _array(dtype: Type) -> Any:
    """Return the array of a bounded field with one value."""
    array = np.zeros((), dtype)
    array[0] = 1  # the number of values
    return array


def _value_type(value: object) -> Type | None:
    for kind, dtype in ((bool, BOOL), (int, INT), (float, FLOAT)):
        if isinstance(value, kind):
            return dtype
    return None


def _widest(types: Iterable[Type | None]) -> Type | None:
    """Return the type that holds the values of all types; None if one is not clear."""
    distinct = set(types)
    if not distinct or None in distinct:
        return None
    return FLOAT if FLOAT in distinct else INT if INT in distinct else BOOL


class TypeReader:
    """Derives types of expressions.

    `fields` has, by variable, the types of its attributes. `array[...]` has the type of the array's elements.
    """

    def __init__(self, tree: ast.AST, fields: Mapping[str, Mapping[str, Type]]) -> None:
        self._fields = fields
        self._assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    self._assigned.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.AugAssign | ast.For | ast.NamedExpr) and isinstance(
                node.target, ast.Name
            ):
                self._assigned[node.target.id] = []  # its type is not derived
        self._open: set[str] = set()

    def read(self, node: ast.expr) -> Type | None:
        """Return the type of an expression; None if it is not clear."""
        if isinstance(node, ast.Constant):
            return _value_type(node.value)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in self._fields:
                return self._fields[node.value.id].get(node.attr)
            return None
        if isinstance(node, ast.Subscript):
            array = self.read(node.value)
            return None if array is None else array.base
        if isinstance(node, ast.Name):
            return self._name_type(node.id)
        if isinstance(node, ast.Compare):
            return BOOL
        if isinstance(node, ast.UnaryOp):
            operand_type = BOOL if isinstance(node.op, ast.Not) else self.read(node.operand)
            return (
                INT if operand_type == BOOL and not isinstance(node.op, ast.Not) else operand_type
            )
        if isinstance(node, ast.BinOp):
            both = _widest((self.read(node.left), self.read(node.right)))
            if both is None or isinstance(node.op, ast.Pow):
                return None
            return FLOAT if isinstance(node.op, ast.Div) else INT if both == BOOL else both
        if isinstance(node, ast.BoolOp):
            return _widest(map(self.read, node.values))
        if isinstance(node, ast.IfExp):
            return _widest((self.read(node.body), self.read(node.orelse)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in _OF_ARGUMENTS:
                return _widest(map(self.read, node.args))
            return _CALLS.get(node.func.id)
        return None

    def _name_type(self, name: str) -> Type | None:
        """Return the type of a variable, from all its assignments; None if it is not clear."""
        values = self._assigned.get(name)
        if not values or name in self._open:
            return None
        self._open.add(name)
        dtype = _widest(map(self.read, values))
        self._open.discard(name)
        return dtype
