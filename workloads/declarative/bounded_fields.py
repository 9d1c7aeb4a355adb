"""Defines the fields other than numbers that a user's window class can have: `BoundedSet` and `LargestValues`.

Both are public names of `streamlab`. The state of a window has an array for each such field (see `state_functions`).
Uses of the field in `add` and `result` become calls of functions on its array.
"""

import ast
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.declarative.expressions import FLOAT, INT
from streamlab.workloads.declarative.result_types import Type, TypeReader
from streamlab.workloads.declarative.state_functions import (
    contains,
    insert,
    insert_largest,
    largest_at,
    set_shape,
    size_of,
)
from streamlab.workloads.declarative.user_functions import UserFunction, compile_like, statements_at
from streamlab.workloads.model.errors import ModelError

LARGEST_BOUND = 1 << 16
"""The largest `most` of a field. Its array then takes up to about 2 MiB per window."""
_FUNCTIONS = {
    "set_insert_": insert,
    "set_contains_": contains,
    "largest_insert_": insert_largest,
    "largest_at_": largest_at,
    "size_of_": size_of,
}

Number = TypeVar("Number", int, float)


def check_bound(most: object, place: str) -> None:
    """Check the largest number of values of a field; raises `ModelError`."""
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= LARGEST_BOUND:
        raise ModelError(f"{place}: most is {most!r}; give 1 to {LARGEST_BOUND}")


class BoundedSet:
    """A set of at most `most` whole numbers or texts, as a field of a class: `bikes = lab.BoundedSet(most=64)`.

    The class uses `self.bikes.add(ride.bike)`, `len(self.bikes)` and `ride.bike in self.bikes`.
    A run with more values fails with a message.
    """

    uses = "self.{name}.add(VALUE), len(self.{name}) and VALUE in self.{name}"

    @check_arguments(ModelError)
    def __init__(self, most: int) -> None:
        check_bound(most, "lab.BoundedSet")
        self.most = most
        self.dtype = np.dtype((np.int64, set_shape(most)))

    def add(self, value: int) -> None:
        """Add a value."""
        raise _outside(self)

    def __contains__(self, value: object) -> bool:
        raise _outside(self)

    def __len__(self) -> int:
        raise _outside(self)


class LargestValues(Generic[Number]):
    """The `most` largest values, as a field of a class: `longest = lab.LargestValues(int, most=3)`.

    The class uses `self.longest.add(ride.duration)`, `len(self.longest)` and `self.longest[0]`, the largest.
    Equal values are counted separately, and NaN is less than all numbers. Reading a place beyond the length ends the
    run with a message.
    """

    uses = "self.{name}.add(VALUE), len(self.{name}) and self.{name}[PLACE]"

    @check_arguments(ModelError)
    def __init__(self, of: type[Number], most: int) -> None:
        if of not in (int, float):
            raise ModelError(f"lab.LargestValues: the type is {of!r}; give int or float")
        check_bound(most, "lab.LargestValues")
        self.most = most
        self.dtype = np.dtype((np.dtype(of), (most + 1,)))

    def add(self, value: Number) -> None:
        """Add a value."""
        raise _outside(self)

    def __getitem__(self, place: int) -> Number:
        raise _outside(self)

    def __len__(self) -> int:
        raise _outside(self)


BoundedField = BoundedSet | LargestValues[Any]


def _outside(field: object) -> ModelError:
    """Return the error for using a field in code that is not compiled."""
    return ModelError(
        f"a {type(field).__name__} has values in a run only: use it in add(self, row) and result(self) of a "
        "class of lab.window, lab.session or lab.count_window"
    )


def use_arrays(
    user: UserFunction,
    fields: Mapping[str, BoundedField],
    types: Mapping[str, Mapping[str, Type]],
) -> UserFunction:
    """Return a method whose uses of bounded fields are calls of functions on arrays.

    Args:
        user: the method; its first parameter has the fields.
        fields: the bounded fields, by name.
        types: the types of the attributes of parameters.

    Raises:
        ModelError: a field is used in another way, or a value does not fit.
    """
    if not fields:
        return user
    tree = _ArrayUses(user, fields, TypeReader(user.tree, types)).visit(deepcopy(user.tree))
    tree.decorator_list = []
    return replace(user, function=compile_like(user.function, tree, _FUNCTIONS), tree=tree)


class _ArrayUses(ast.NodeTransformer):
    """Replaces the uses of bounded fields by calls of `_FUNCTIONS`."""

    def __init__(
        self, user: UserFunction, fields: Mapping[str, BoundedField], types: TypeReader
    ) -> None:
        self._user, self._fields, self._types = user, fields, types

    def _name(self, node: ast.AST) -> str:
        """Return the name of the bounded field that a node reads; "" for any other node."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return ""
        is_own = node.value.id == self._user.parameters[0]
        return node.attr if is_own and node.attr in self._fields else ""

    def _call(self, node: ast.AST, function: str, *arguments: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(function, ast.Load()), list(arguments), [])
        return ast.copy_location(call, node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            name = self._name(call.func.value)
            if name and call.func.attr == "add" and len(call.args) == 1 and not call.keywords:
                return self._add(node, name, call.func.value, call.args[0])
        self.generic_visit(node)
        return node

    def _add(self, node: ast.Expr, name: str, array: ast.expr, value: ast.expr) -> ast.stmt:
        """Return the statement that inserts a value, and that raises an error if a set has too many values."""
        field = self._fields[name]
        dtype = self._types.read(value)
        text = ast.unparse(value)
        if dtype is None:
            raise ModelError(
                f"{self._user.place(node)}: the type of {text} is not clear; write int({text}) or "
                f"float({text})"
            )
        if dtype == FLOAT and field.dtype.base == INT:
            remedy = "give whole numbers or texts"
            if isinstance(field, LargestValues):
                remedy = f"declare {name} = lab.LargestValues(float, most={field.most})"
            raise ModelError(
                f"{self._user.place(node)}: {text} is a float, and {name} has whole numbers; {remedy}"
            )
        value = self.visit(value)
        if isinstance(field, LargestValues):
            return ast.copy_location(
                ast.Expr(self._call(node, "largest_insert_", array, value)), node
            )
        message = f"{name} has more than {field.most} different values; raise most={field.most}"
        (check,) = statements_at(f"if 0 > {field.most}:\n    raise ValueError({message!r})", node)
        assert isinstance(check, ast.If) and isinstance(check.test, ast.Compare), "as written above"
        check.test.left = self._call(node, "set_insert_", array, value)
        return check

    def visit_Call(self, node: ast.Call) -> ast.expr:
        is_len = isinstance(node.func, ast.Name) and node.func.id == "len" and not node.keywords
        if is_len and len(node.args) == 1 and self._name(node.args[0]):
            return self._call(node, "size_of_", node.args[0])
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        name = self._name(node.comparators[0]) if len(node.ops) == 1 else ""
        if isinstance(self._fields.get(name), BoundedSet) and isinstance(
            node.ops[0], ast.In | ast.NotIn
        ):
            call = self._call(node, "set_contains_", node.comparators[0], self.visit(node.left))
            if isinstance(node.ops[0], ast.In):
                return call
            return ast.copy_location(ast.UnaryOp(ast.Not(), call), node)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        field = self._fields.get(self._name(node.value))
        is_place = isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)
        if isinstance(field, LargestValues) and is_place:
            place = node.slice.value if isinstance(node.slice, ast.Constant) else 0
            if isinstance(place, int) and place >= field.most:
                raise ModelError(
                    f"{self._user.place(node)}: {ast.unparse(node)} of at most {field.most} values; "
                    f"places are 0 to {field.most - 1}"
                )
            return self._call(node, "largest_at_", node.value, self.visit(node.slice))
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = self._name(node)
        if name:
            field = self._fields[name]
            raise ModelError(
                f"{self._user.place(node)}: {name}, a {type(field).__name__}, is used in another way than "
                f"{field.uses.format(name=name)}"
            )
        self.generic_visit(node)
        return node
