"""Reads and compiles the user's function of a flat map, which yields rows for each row of the input."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamlab.workloads.declarative.class_form import row_columns, types_of_row
from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.declarative.input_columns import TEXT_ID, InputColumns
from streamlab.workloads.declarative.result_types import result_types
from streamlab.workloads.declarative.user_functions import (
    UserFunction,
    make_emitting,
    read_function,
    yielded_names,
)
from streamlab.workloads.model.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFunction:
    """A user's function that yields rows, compiled.

    Attributes:
        name: the name of the function.
        give: `give(t, out)`, which emits the rows that the function yields for row `t`.
        reads: columns of the row.
        output: the columns of the rows that it yields.
    """

    name: str
    give: Callable[[Any, Any], None]
    reads: tuple[Column, ...]
    output: tuple[Column, ...]


def read_rows(function: object, most: int, columns: InputColumns) -> RowFunction:
    """Compile a user's generator function, which takes one row and yields at most `most` rows.

    Raises:
        ModelError: it yields no rows, or one of its parts cannot be compiled.
    """
    if getattr(function, "__name__", "") == "<lambda>":
        raise ModelError(
            "lab.flat_map: the function is a lambda; write def, with yield for each row"
        )
    user = read_function(function, "function", 1)
    yielded_names(user)  # refuses invalid rows
    (row,) = user.parameters
    reads = tuple(row_columns(user, row, columns))
    types = result_types(user, types_of_row(reads))
    columns_by_code = {f"{row}.{column.name}": column for column in reads}
    columns_by_code[f"{row}.ts"] = Column(name="ts", dtype=types_of_row(())["ts"], is_time=True)
    output = [
        _with_dictionary(user, columns_by_code, Column(name=name, dtype=dtype), columns)
        for name, dtype in types.items()
    ]
    return RowFunction(
        name=user.function.__name__,
        give=make_emitting(user, (), {}, (), most=most),
        reads=reads,
        output=tuple(output),
    )


def _with_dictionary(
    user: UserFunction, columns_by_code: dict[str, Column], column: Column, columns: InputColumns
) -> Column:
    """Return an output column. It gets the dictionary of its values if all are texts, and is a time if all are times.

    Raises:
        ModelError: some values are texts and some are numbers, or texts have separate dictionaries.
    """
    values = [
        value
        for node in ast.walk(user.tree)
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Dict)
        for key, value in zip(node.value.keys, node.value.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == column.name
    ]
    parts = [columns_by_code.get(ast.unparse(value)) for value in _parts(values)]
    texts = sorted({part.dictionary for part in parts if part is not None and part.dictionary})
    if not texts:
        return replace(column, is_time=all(part is not None and part.is_time for part in parts))
    if not all(part is not None and part.dictionary for part in parts):
        raise ModelError(
            f"{user.place(values[0])}: {column.name} is a number and a text of {', '.join(texts)}; yield "
            "texts only, each from a column"
        )
    if len(texts) > 1 and not columns.share(texts):
        raise ModelError(
            f"{user.place(values[0])}: {column.name} is a text of {', '.join(texts)}, whose texts the "
            "input workload numbers separately; make this the first step, which reads the table"
        )
    return replace(column, dtype=TEXT_ID, dictionary=texts[0])


def _parts(values: Sequence[ast.expr]) -> list[ast.expr]:
    """Return expressions; `a if condition else b` becomes its two alternatives."""
    parts: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.IfExp):
            parts += _parts([value.body, value.orelse])
        else:
            parts.append(value)
    return parts
