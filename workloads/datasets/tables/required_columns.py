"""Determines the columns that a program requires, and finds them in a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.cells import convert_exactly
from streamlab.workloads.datasets.tables.source import first_part
from streamlab.workloads.datasets.tables.table import (
    BUILT_IN_COLUMNS,
    FILE,
    NO_COLUMN,
    Table,
    TableSet,
    flagged_field,
)
from streamlab.workloads.model import DGSProgram, Program, Query
from streamlab.workloads.model.dataflow import Dataflow

SHOWN_COLUMNS = 20
"""Maximum number of columns that an error lists."""
TS, KEY, KIND = "ts", "key", "kind"
"""Roles of columns. A field NAME of the program has the role `.NAME`."""
_BOOL = np.dtype(np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredColumns:
    """The columns that a program reads.

    Attributes:
        program: the program's name.
        kinds: the kinds of its events.
        keyed: whether events have keys.
        fields: dtype of each field, of all kinds.
        lists: dtype of the elements of each field that holds lists.
        kind_fields: for each kind, the fields and lists that it must have.
        is_exact: whether `kind_fields` are known. A DGS program with several kinds does not declare them. There, a kind
            has the fields with a value in some of its rows.
    """

    program: str
    kinds: tuple[str, ...]
    keyed: bool
    fields: Mapping[str, np.dtype[Any]]
    lists: Mapping[str, np.dtype[Any]]
    kind_fields: tuple[frozenset[str], ...]
    is_exact: bool

    def schema(self) -> list[Any]:
        """Return JSON values that are equal for programs that read a table in the same way."""
        return [
            list(self.kinds),
            self.keyed,
            {name: dtype.str for name, dtype in self.fields.items()},
            {name: dtype.str for name, dtype in self.lists.items()},
            [sorted(names) for names in self.kind_fields],
        ]


def required_columns(program: Program) -> RequiredColumns:
    """Return the columns that a program reads.

    Raises:
        DatasetError: tables cannot provide a field's type.
    """
    fields = {name: program.event[name] for name in program.event.names or ()}
    lists: Mapping[str, np.dtype[Any]] = {}
    all_fields = frozenset(fields)
    kind_fields = tuple(all_fields for _ in program.kinds)
    if isinstance(program, Query):
        first = program.operators[0]
        lists = first.lists
        kind_fields = tuple(
            frozenset((*(part.fields.names or ()), *(name for name, _ in part.lists)))
            for part in first.inputs
        )
    elif isinstance(program, Dataflow):
        kind_fields = tuple(
            frozenset(program.vertices[source].type.fields[1:]) for source in program.sources
        )
    for name, dtype in {**fields, **lists}.items():
        if dtype.kind not in "iufb":
            raise DatasetError(
                f"program {program.name}: field {name} is of type {dtype}; tables give whole "
                "numbers, floats, booleans, and lists of them"
            )
    return RequiredColumns(
        program=program.name,
        kinds=program.kinds,
        keyed=isinstance(program, DGSProgram) and program.keyed,
        fields=fields,
        lists=lists,
        kind_fields=kind_fields,
        is_exact=not isinstance(program, DGSProgram) or len(program.kinds) == 1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenColumns:
    """The columns of a part (`source.Part`) that provide the required columns.

    Attributes:
        index: by role: index of the column in the part, without `BUILT_IN_COLUMNS`.
        kind: index of the kind of all rows; None if a column holds each row's kind.
        names: by role: name of the column, including `BUILT_IN_COLUMNS`.
    """

    index: Mapping[str, int]
    kind: int | None
    names: Mapping[str, str]


def tables_of_kinds(
    tables: TableSet, required: RequiredColumns
) -> tuple[list[Table], RequiredColumns]:
    """Return the tables in the order of the kinds, and the required columns with exact `kind_fields`.

    Raises:
        DatasetError: a kind has no table, a table's kind does not exist, no table has a field, or a field is a text
            in some tables only.
    """
    where = f"program {required.program}"
    kinds = ", ".join(required.kinds)
    for kind in tables.by_kind:
        if kind not in required.kinds:
            raise DatasetError(f"{where}: input {kind!r} is not one of its kinds; it has {kinds}")
    for kind in required.kinds:
        if kind not in tables.by_kind:
            raise DatasetError(f"{where}: kind {kind} has no table; give one for each of {kinds}")
    in_order = [replace(tables.by_kind[kind], kind=f"={kind}") for kind in required.kinds]
    if not required.is_exact:
        kind_fields = tuple(_fields_of(table, required) for table in in_order)
        for name in (*required.fields, *required.lists):
            if not any(name in fields for fields in kind_fields):
                raise DatasetError(
                    f"{where}: none of the tables {tables.label} has a column for field {name}; "
                    f'name it in one of them (columns={{"{name}": ...}})'
                )
        required = replace(required, kind_fields=kind_fields, is_exact=True)
    for name in {name for table in in_order for name in table.ids}:
        for table, fields in zip(in_order, required.kind_fields, strict=True):
            if name in fields and name not in table.ids:
                raise DatasetError(
                    f"table {table.label}: field {name} is a text in another table (ids), but not in this one; "
                    f'give ids=["{name}"] in all tables with this field'
                )
    return in_order, required


def _fields_of(table: Table, required: RequiredColumns) -> frozenset[str]:
    """Return the fields that a table has: those with a column in its source, or named in `Table.columns`."""
    part = first_part(table.source)
    columns = (*(part.names if part else ()), *BUILT_IN_COLUMNS, NO_COLUMN)
    names = {
        name
        for name in (*required.fields, *required.lists)
        if name in table.columns or table.column_of(name) in columns
    }
    flags = {name for name in required.fields if flagged_field(name, required.fields) in names}
    return frozenset(names | flags)


def check_meaning(table: Table, required: RequiredColumns) -> None:
    """Reject declarations of a table that do not fit the program, whatever the table's columns are.

    Raises:
        DatasetError: a declared field does not exist or has another type, or `key` is declared for a program without
            keys or missing for a keyed program.
    """
    where = f"table {table.source.label}, program {required.program}"
    fields = (*required.fields, *required.lists)
    keys = (KEY,) if required.keyed else ()
    for argument, names, roles in (
        ("derive", table.derive, ()),
        ("scale", table.scale, ()),
        ("columns", table.columns, ()),
        ("ids", table.ids, ()),
        ("fill", table.fill, keys),
        ("skip_missing", table.skip_missing, keys),
    ):
        unknown = [name for name in names if name not in (*fields, *roles)]
        if unknown:
            raise DatasetError(
                f"{where}: {argument} names {', '.join(unknown)}, which is not a field of the program; "
                f"it has {', '.join(fields) or 'none'}"
            )
    for name in table.scale:
        if (
            name in table.ids
            or name in table.derive
            or required.fields.get(name, _BOOL).kind not in "iu"
        ):
            raise DatasetError(
                f"{where}: scale has {name}; give a field of whole numbers that is not in ids or derive"
            )
    for name in table.derive:
        if name in required.lists or name in table.columns:
            raise DatasetError(
                f"{where}: derive has {name}, which is a field of lists or in columns; give a field of "
                "numbers, booleans or texts that is not in columns"
            )
    for name in table.ids:
        if {**required.fields, **required.lists}[name].kind not in "iu":
            raise DatasetError(
                f"{where}: ids names {name}, which is not a field of whole numbers; leave it out"
            )
    for name, value in table.fill.items():
        _check_fill(table, required, name, value, where)
    if table.key is not None and not required.keyed:
        raise DatasetError(
            f"{where}: key is {table.key!r}, but the program has no keys; leave key out, "
            "and name the columns of the program's fields"
        )
    if table.key is None and not table.key_fields and required.keyed:
        raise DatasetError(f"{where}: the program is keyed; name the column of keys (key=...)")
    if table.kind is None and len(required.kinds) > 1:
        raise DatasetError(
            f"{where}: the program has the kinds {', '.join(required.kinds)}; give the column that "
            "names them, or the kind of all rows (kind=...)"
        )


def _check_fill(
    table: Table, required: RequiredColumns, name: str, value: object, where: str
) -> None:
    """Raise a `DatasetError` if `value` cannot fill the empty cells of field `name`."""
    if name in table.skip_missing:
        raise DatasetError(
            f"{where}: {name} is in fill and in skip_missing; remove it from one of them"
        )
    if name in required.lists:
        raise DatasetError(
            f"{where}: fill has {name}, a field of lists; leave it out, because missing lists are empty"
        )
    if name == KEY or name in table.ids:
        if not isinstance(value, str) or not value.strip():
            raise DatasetError(f"{where}: fill has {value!r} for {name}; give a text")
        return
    try:
        convert_exactly(value, required.fields[name])
    except (TypeError, ValueError, ArithmeticError):
        raise DatasetError(
            f"{where}: fill has {value!r} for {name}; give a value of type {required.fields[name]}"
        ) from None


def choose(
    table: Table, required: RequiredColumns, names: Sequence[str], place: str
) -> ChosenColumns:
    """Return the columns that provide the required ones.

    Raises:
        DatasetError: a column is missing, or its name is ambiguous.
    """
    fixed = _fixed_kind(table, required, names, place)
    roles = {
        f"{TS}.{number}" if number else TS: column for number, column in enumerate(table.times)
    }
    if table.key is not None:
        roles[KEY] = table.key
    if fixed is None:
        assert table.kind is not None, "check_meaning"
        roles[KIND] = table.kind
    needed = (
        frozenset().union(*required.kind_fields) if fixed is None else required.kind_fields[fixed]
    )
    for name in (*required.fields, *required.lists):
        column = table.column_of(name)
        is_flag = column not in names and flagged_field(name, required.fields)
        if name in needed and column != NO_COLUMN and not is_flag:
            roles[f".{name}"] = column
    index = {
        role: _find(role, column, names, place)
        for role, column in roles.items()
        if column not in BUILT_IN_COLUMNS
    }
    return ChosenColumns(index=index, kind=fixed, names=roles)


def _fixed_kind(
    table: Table, required: RequiredColumns, names: Sequence[str], place: str
) -> int | None:
    """Return the index of the kind of all rows; None if a column holds each row's kind."""
    if table.kind is None:
        return 0
    if table.kind in (*names, FILE):
        return None
    kind = table.kind.removeprefix("=")
    if kind in required.kinds:
        return required.kinds.index(kind)
    raise DatasetError(
        f"{place}: kind is {table.kind!r}, which is neither a column ({_list_names(names)}) nor one of "
        f"the kinds {', '.join(required.kinds)}"
    )


def _find(role: str, column: str, names: Sequence[str], place: str) -> int:
    """Return the index of a role's column; raises `DatasetError` if the column is missing or ambiguous."""
    count = names.count(column)
    if count == 1:
        return names.index(column)
    if count:
        raise DatasetError(
            f"{place}: {count} columns are called {column}; rename all but one of them"
        )
    if role.startswith("."):
        need = f"field {role[1:]}; name its column ({role[1:]}=...), or {NO_COLUMN} for none"
    else:
        need = f"{role}; name its column ({role}=...)"
    raise DatasetError(
        f"{place}: no column {column} for {need}; there are {_list_names(names)}"
        + ("; is the delimiter right?" if len(names) == 1 else "")
    )


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_COLUMNS])
    return f"{shown}, and {len(names) - SHOWN_COLUMNS} more" if names[SHOWN_COLUMNS:] else shown
