"""Reads the function of a flat map: the rows that it yields for a row."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamlab.workloads.declarative.class_form import row_columns, types_of_row
from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.declarative.input_columns import InputColumns
from streamlab.workloads.declarative.result_types import result_types
from streamlab.workloads.declarative.user_functions import (
    UserFunction,
    emitting,
    read_function,
    yielded_names,
)
from streamlab.workloads.model.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsForm:
    """What a function that yields rows declares.

    Attributes:
        give: `give(t, out)`, which emits the rows.
        reads: columns of the row.
        output: the columns of the rows that it yields.
    """

    name: str
    give: Callable[[Any, Any], None]
    reads: tuple[Column, ...]
    output: tuple[Column, ...]


def read_rows(function: object, most: int, columns: InputColumns) -> RowsForm:
    """Return what a function of a row that yields at most `most` rows declares.

    Raises:
        ModelError: it yields no rows, or one of its parts cannot be compiled.
    """
    if getattr(function, "__name__", "") == "<lambda>":
        raise ModelError(
            "lab.flat_map: the function is a lambda; write def, with yield for each row"
        )
    user = read_function(function, "function", 1)
    yielded_names(user)
    (row,) = user.parameters
    reads = tuple(row_columns(user, row, columns))
    types = result_types(user, types_of_row(reads))
    known = {f"{row}.{column.name}": column for column in reads}
    known[f"{row}.ts"] = Column(name="ts", dtype=types_of_row(())["ts"], is_time=True)
    return RowsForm(
        name=user.function.__name__,
        give=emitting(user, (), {}, (), most=most),
        reads=reads,
        output=tuple(
            _meaning(user, known, Column(name=name, dtype=dtype)) for name, dtype in types.items()
        ),
    )


def _meaning(user: UserFunction, known: dict[str, Column], column: Column) -> Column:
    """Return a column with the dictionary or the time that all its values have.

    Raises:
        ModelError: some values are texts, and others numbers or texts of another column.
    """
    values = [
        value
        for node in ast.walk(user.tree)
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Dict)
        for key, value in zip(node.value.keys, node.value.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == column.name
    ]
    columns = [known.get(ast.unparse(value)) for value in _parts(values)]
    dictionaries = {None if each is None else each.dictionary for each in columns}
    if len(dictionaries) > 1:
        texts = ", ".join(sorted(name or "a number" for name in dictionaries))
        raise ModelError(
            f"{user.place(values[0])}: {column.name} is of {texts}; each column of texts has numbers of its "
            "own, so yield it from one column, or import the texts as numbers"
        )
    (dictionary,) = dictionaries
    if dictionary is not None and columns[0] is not None:
        return replace(columns[0], name=column.name)
    return replace(column, is_time=all(each is not None and each.is_time for each in columns))


def _parts(values: Sequence[ast.expr]) -> list[ast.expr]:
    """Return expressions, each `a if condition else b` as two."""
    parts: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.IfExp):
            parts += _parts([value.body, value.orelse])
        else:
            parts.append(value)
    return parts
