"""Infers the types of a table's columns from its first rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.arrow import has_hexadecimal
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.cells import decode_column, is_text, use_decimal_point
from streamlab.workloads.datasets.tables.source import first_part
from streamlab.workloads.datasets.tables.table import Table

TEXT = None
"""The type of a column of texts, which a dictionary turns into numbers."""

DTYPES: dict[object, np.dtype[Any] | None] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    str: TEXT,
}
"""Maps a Python type that a user can declare to the column type."""

_CODE = r"^[+-]?0[0-9]"
"""Matches digits after a leading zero, as in a postal code. Such a text is not a number."""

MAX_TRIED = 1_000
"""Maximum number of texts on which `read_header` tries a derive function."""

_RESULTS: tuple[tuple[Any, Any], ...] = (
    ((bool, np.bool_), np.bool_),
    ((int, np.integer), np.int64),
    ((int, float, np.number), np.float64),
    (str, TEXT),
)
"""Result types of a derive function, and the column type. The first entry that fits all results counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of a table.

    Attributes:
        names: all columns, in order, and the fields that the table derives.
        types: the type of each requested column; None stands for text.
    """

    names: tuple[str, ...]
    types: dict[str, np.dtype[Any] | None]


def read_header(table: Table, columns: Sequence[str] | None = None) -> Header:
    """Return the names of a table's columns, and the types of `columns` (None: all) in its first block of rows.

    Whole numbers are int64, other numbers float64, and `true` and `false` bool. All other columns are texts, including
    columns with digits after a leading zero and columns without any value.

    Raises:
        DatasetError: the table cannot be read, lacks a column, repeats a column name, or a column holds
            neither numbers, booleans nor texts.
    """
    part = first_part(table.source)
    if part is None:
        raise DatasetError(f"table {table.label} has no columns; give a table with a header")
    chosen = list(part.names if columns is None else dict.fromkeys(columns))
    columns = [table.column_of(name) for name in chosen]
    for name in columns:
        if part.names.count(name) != 1:
            raise DatasetError(
                f"{part.place}: {part.names.count(name)} columns are called {name}; the columns are "
                f"{', '.join(part.names)}"
            )
    chunk = next(iter(part.chunks([part.names.index(name) for name in columns] or [0])), None)
    types: dict[str, np.dtype[Any] | None] = dict.fromkeys(chosen, TEXT)
    if chunk is not None:
        for number, name in enumerate(chosen):
            place = f"{part.place}: column {columns[number]}"
            cells = decode_column(chunk.batch.column(number))
            if name in table.derive:
                types[name] = _type_of_results(table.derive[name][1], cells, f"{place}: {name}")
            elif name in table.scale:
                types[name] = np.dtype(np.int64)
            else:
                types[name] = type_of_cells(use_decimal_point(cells, table.decimal)[0], place)
    return Header(names=(*part.names, *table.derive), types=types)


def _type_of_results(
    function: Callable[[str], Any], cells: "pa.Array", place: str
) -> np.dtype[Any] | None:
    """Return the type of a function's results for the distinct texts of a column; None stands for text."""
    texts = pc.utf8_trim_whitespace(cells.cast(pa.string())).unique().drop_null().to_pylist()
    kinds: set[type] = set()
    for text in filter(None, texts[:MAX_TRIED]):
        try:
            kinds.add(type(function(text)))
        except Exception:
            continue
    for kind, dtype in _RESULTS:
        if kinds and all(issubclass(result, kind) for result in kinds):
            return None if dtype is None else np.dtype(dtype)
    got = ", ".join(sorted(kind.__name__ for kind in kinds)) or "none"
    raise DatasetError(
        f"{place} is derived with the types {got}; return one of int, float, bool and str"
    )


def type_of_cells(column: "pa.Array", place: str) -> np.dtype[Any] | None:
    """Return the type of a column's cells; None stands for text. Raises `DatasetError` for other types."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return np.dtype(np.bool_)
    if pa.types.is_integer(kind):
        return np.dtype(np.int64)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.dtype(np.float64)
    if pa.types.is_null(kind):
        return TEXT
    if not is_text(kind):
        raise DatasetError(f"{place} is of type {kind}; give numbers, booleans or texts")
    texts = pc.utf8_trim_whitespace(column)
    texts = texts.filter(pc.fill_null(pc.not_equal(texts, ""), False))
    if not len(texts) or has_hexadecimal(texts):
        return TEXT
    if has_codes(texts):
        return TEXT
    if pc.all(pc.is_in(pc.utf8_lower(texts), pa.array(["true", "false"]))).as_py():
        return np.dtype(np.bool_)
    for target in (np.int64, np.float64):
        try:
            texts.cast(pa.from_numpy_dtype(target))
        except pa.ArrowInvalid:
            continue
        return np.dtype(target)
    return TEXT


def has_codes(texts: "pa.Array") -> bool:
    """Return whether any text has digits after a leading zero, as in a postal code."""
    return bool(pc.any(pc.match_substring_regex(pc.utf8_trim_whitespace(texts), _CODE)).as_py())
