"""Reads a class that declares a window: its state, and the functions `add`, `result` and `where`."""

import ast
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from streamlab.workloads.declarative.bounded_fields import (
    BoundedField,
    BoundedSet,
    LargestValues,
    use_arrays,
)
from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.declarative.expressions import BOOL, FLOAT, INT
from streamlab.workloads.declarative.input_columns import InputColumns
from streamlab.workloads.declarative.result_types import result_types
from streamlab.workloads.declarative.user_functions import (
    UserFunction,
    make_emitting,
    read_function,
    returned_names,
)
from streamlab.workloads.model.code.generated import define
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import RESERVED
from streamlab.workloads.name_suggestions import suggest_names

_STATE_TYPES = {int: INT, float: FLOAT, bool: BOOL}
_METHODS = ("add", "result", "where")
_STARTED = "started_"
"""The field of the state that is 1 after the defaults of fields have been set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassForm:
    """The parts of a class that declares a window.

    Attributes:
        state: fields of the state, in the form that `numpy.dtype` takes.
        add: `add(s, t)`, which adds the row `t` to the state `s`.
        result: the function `result(self)` of the user.
        where: the filter of the user, as a function of a row; None means all rows.
        reads: columns of the row.
        output: the columns of the result.
    """

    name: str
    state: tuple[tuple[str, np.dtype[Any]], ...]
    add: Callable[..., Any]
    result: UserFunction
    where: Callable[..., Any] | None
    reads: tuple[Column, ...]
    output: tuple[Column, ...]

    def make_result(
        self, prefix: Sequence[str], *, key: Sequence[str], parameters: Sequence[str] = ()
    ) -> FunctionType:
        """Return `result(s, *parameters, out)`, which emits the prefix and the result.

        `self.key` is the value of the key, a tuple of several values, or 0 without a key.
        """
        self._check_key(len(key))
        value = key[0] if len(key) == 1 else f"({', '.join(key)})" if key else "0"
        return make_emitting(self.result, prefix, {"key": value}, parameters)

    def _check_key(self, columns: int) -> None:
        """Check that `result` reads a key of several columns one column at a time, as `self.key[0]`."""
        me = self.result.parameters[0]
        nodes = [*ast.walk(self.result.tree)]
        places = {id(node.value): node.slice for node in nodes if isinstance(node, ast.Subscript)}
        for node in nodes:
            if not isinstance(node, ast.Attribute) or ast.unparse(node) != f"{me}.key":
                continue
            place = places.get(id(node))
            number = place.value if isinstance(place, ast.Constant) else None
            if columns < 2 and place is not None:
                raise ModelError(
                    f"{self.result.place(node)}: {me}.key is one number; write {me}.key without [...]"
                )
            if columns > 1 and number not in range(columns):
                raise ModelError(
                    f"{self.result.place(node)}: the key has {columns} columns; write {me}.key[0] to "
                    f"{me}.key[{columns - 1}]"
                )


def read_class(cls: type, columns: InputColumns) -> ClassForm:
    """Return the declaration of a class.

    Raises:
        ModelError: it has no `add` or `result`, or one of its parts cannot be compiled.
    """
    if not isinstance(cls, type):
        raise ModelError(f"a window is declared by a class, not by {cls!r:.60}")
    where, members = f"class {cls.__name__}", _members(cls)
    for method in ("add", "result"):
        if not isinstance(members.get(method), FunctionType):
            row = ", row" if method == "add" else ""
            raise ModelError(f"{where} has no {method}; write def {method}(self{row}): ...")
    for name, value in members.items():
        if isinstance(value, FunctionType | staticmethod | classmethod) and name not in _METHODS:
            raise ModelError(
                f"{where}: {name} is a further method, which compiled code cannot call; write it as a "
                "function outside the class"
            )
    bounded = {n: v for n, v in members.items() if isinstance(v, BoundedSet | LargestValues)}
    state = _read_state(cls, bounded, where)
    add = read_function(members["add"], "add", 2)
    result = read_function(members["result"], "result", 1)
    _check_state_use(add, state, ())
    _check_state_use(result, state, ("key",))
    returned_names(result)
    me, row = add.parameters
    reads = {column.name: column for column in row_columns(add, row, columns)}
    add = use_arrays(add, bounded, {me: state, row: types_of_row(reads.values())})
    in_result = {**state, "key": INT}
    on_arrays = use_arrays(result, bounded, {result.parameters[0]: in_result})
    types = result_types(replace(result, function=on_arrays.function), in_result)
    keep = _read_where(members)
    if keep is not None:
        for column in row_columns(keep, keep.parameters[-1], columns):
            reads.setdefault(column.name, column)
    adding, fields = _with_defaults(where, members, add.function, state)
    return ClassForm(
        name=cls.__name__,
        state=fields,
        add=adding,
        result=on_arrays,
        where=None if keep is None else _row_filter(keep),
        reads=tuple(reads.values()),
        output=tuple(Column(name=n, dtype=dtype) for n, dtype in types.items()),
    )


def _members(cls: type) -> dict[str, object]:
    """Return the attributes of a class, inherited ones included."""
    bases = (base for base in reversed(cls.__mro__) if base is not object)
    return {name: value for base in bases for name, value in vars(base).items()}


def row_columns(user: UserFunction, row: str, columns: InputColumns) -> list[Column]:
    """Return the columns that a function reads of its parameter `row`.

    Raises:
        ModelError: the input lacks a column, or the row is used as a whole.
    """
    other = user.other_use(row)
    if other is not None:
        raise ModelError(
            f"{user.place(other)}: {row} is used without the name of a column, so the columns that are "
            f"read are not known; pass values, such as {row}.duration, to other functions"
        )
    read = []
    for name, node in user.attributes(row).items():
        if name == "ts":
            continue
        column = columns.find(name, user.place(node))
        if column.dictionary is not None:
            _refuse_text_comparison(user, row, name)
        read.append(column)
    return read


def _refuse_text_comparison(user: UserFunction, row: str, name: str) -> None:
    """Raise a `ModelError` if a function compares a column of texts with a text in quotes."""
    for node in ast.walk(user.tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            parts = [part for side in sides for part in ast.walk(side)]
            texts = any(isinstance(p, ast.Constant) and isinstance(p.value, str) for p in parts)
            if texts and any(ast.unparse(side) == f"{row}.{name}" for side in sides):
                raise ModelError(
                    f"{user.place(node)}: column {name} holds texts, which are numbered in the order of "
                    f"their appearance: {ast.unparse(node)} is never true; give it as an argument, "
                    f"where=\"{name} == 'TEXT'\"; compare it here with other rows only"
                )


def types_of_row(columns: Iterable[Column]) -> dict[str, np.dtype[Any]]:
    """Return the types of the attributes of a row in a function of the user."""
    kinds = {"f": FLOAT, "b": BOOL}
    return {"ts": INT, **{column.name: kinds.get(column.dtype.kind, INT) for column in columns}}


def _read_state(
    cls: type, bounded: Mapping[str, BoundedField], where: str
) -> dict[str, np.dtype[Any]]:
    """Return the type of each field of the state; raises `ModelError` for invalid fields."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError as error:
        raise ModelError(f"{where}: a type of its fields is unknown: {error}") from None
    state: dict[str, np.dtype[Any]] = {name: field.dtype for name, field in bounded.items()}
    for name, hint in hints.items():
        if name in bounded:
            continue
        if hint not in _STATE_TYPES:
            shown = getattr(hint, "__name__", hint)
            raise ModelError(
                f"{where}: field {name} is of type {shown}; the state of a window has int, float, bool, "
                f"{name} = lab.BoundedSet(most=64) and {name} = lab.LargestValues(int, most=3); for "
                "percentiles give result={...} with lab.percentile"
            )
        state[name] = _STATE_TYPES[hint]
    for name in state:
        if name in RESERVED or name.endswith("_"):
            raise ModelError(f"{where}: field {name} has a reserved name; give it another one")
    if not state:
        raise ModelError(
            f"{where} declares no state; write its fields with types, such as count: int"
        )
    return state


def _check_state_use(
    user: UserFunction, state: dict[str, np.dtype[Any]], further_names: tuple[str, ...]
) -> None:
    """Check that a method uses its parameter `self` only for fields of the state and for `further_names`."""
    me = user.parameters[0]
    other = user.other_use(me)
    if other is not None:
        raise ModelError(f"{user.place(other)}: {me} is used without a field; use its fields only")
    for name, node in user.attributes(me).items():
        if name not in state and name not in further_names:
            raise ModelError(
                f"{user.place(node)}: {me}.{name} is not a field of the state; declare it in the class, such as "
                f"{name}: int; {suggest_names(name, state)}"
            )


def _read_where(members: Mapping[str, object]) -> UserFunction | None:
    """Return the method `where`, which may have a parameter `self` but must not use it; None without this method."""
    method = members.get("where")
    if method is None:
        return None
    if isinstance(method, staticmethod):
        return read_function(method.__func__, "where", 1)
    user = read_function(method, "where", 2)
    me = user.parameters[0]
    for name, node in user.attributes(me).items():
        raise ModelError(
            f"{user.place(node)}: {me}.{name}: where sees the row only, not the state; test it in add"
        )
    return user


def _row_filter(user: UserFunction) -> Callable[..., Any]:
    """Return the method `where` as a function of the row only."""
    if len(user.parameters) == 1:
        return user.function
    return define("where", "t", ["return user_where(0, t)"], {"user_where": user.function})


def _with_defaults(
    where: str, members: Mapping[str, object], add: FunctionType, state: dict[str, np.dtype[Any]]
) -> tuple[Callable[..., Any], tuple[tuple[str, np.dtype[Any]], ...]]:
    """Return `add` with the defaults of fields set first, and the fields of the state."""
    fields = tuple(state.items())
    numbers = [name for name, dtype in fields if dtype.subdtype is None]
    values = {name: members[name] for name in numbers if name in members}
    for name, value in values.items():
        if not _fits(value, state[name]):
            kind = {INT: "a whole number of 64 bits", BOOL: "True or False"}.get(
                state[name], "a number"
            )
            raise ModelError(
                f"{where}: the default of {name} is {value!r}; give {kind}, as its type says"
            )
    defaults = {name: value for name, value in values.items() if value}
    if not defaults:
        return add, fields
    lines = [f"if s.{_STARTED} == 0:", f"    s.{_STARTED} = 1"]
    lines += [f"    s.{name} = default_{name}" for name in defaults]
    names = {f"default_{name}": state[name].type(value).item() for name, value in defaults.items()}
    function = define("add", "s, t", [*lines, "user_add(s, t)"], {"user_add": add, **names})
    return function, (*fields, (_STARTED, np.dtype(np.int8)))


def _fits(value: object, dtype: np.dtype[Any]) -> bool:
    """Return whether a field holds a value without changing it."""
    if not isinstance(value, int | float):
        return False
    if dtype == FLOAT:
        return True
    low, high = (0, 1) if dtype == BOOL else (-(1 << 63), (1 << 63) - 1)
    return low <= value <= high and value == int(value)
