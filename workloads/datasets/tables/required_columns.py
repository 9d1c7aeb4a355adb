"""Derives the columns that a program requires, and finds them in a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.cells import convert_exactly
from streamlab.workloads.datasets.tables.source import first_part
from streamlab.workloads.datasets.tables.table import (
    FILE,
    BUILT_IN_COLUMNS,
    NO_COLUMN,
    Table,
    TableSet,
    flagged_field,
)
from streamlab.workloads.model import DGSProgram, Program, Query
from streamlab.workloads.model.dataflow import Dataflow

SHOWN_COLUMNS = 20
TS, KEY, KIND = "ts", "key", "kind"
_BOOL = np.dtype(np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredColumns:
    """The columns that a program reads.

    Attributes:
        program: its name.
        kinds: of its events.
        keyed: whether events have keys.
        fields: dtype of each field, of all kinds.
        lists: dtype of the elements of each field that holds lists.
        kind_fields: the fields and lists that each kind must have. A DGS program with several kinds does not
            declare them; then a kind carries the fields that are not empty in all of its rows.
        is_exact: whether the program declares `kind_fields`.
    """

    program: str
    kinds: tuple[str, ...]
    keyed: bool
    fields: Mapping[str, np.dtype[Any]]
    lists: Mapping[str, np.dtype[Any]]
    kind_fields: tuple[frozenset[str], ...]
    is_exact: bool

    def schema(self) -> list[Any]:
        """Return a JSON form, equal for programs that read a table alike."""
        return [
            list(self.kinds),
            self.keyed,
            {name: dtype.str for name, dtype in self.fields.items()},
            {name: dtype.str for name, dtype in self.lists.items()},
            [sorted(names) for names in self.kind_fields],
        ]


def required_columns(program: Program) -> RequiredColumns:
    """Return the columns that a program reads; raises `DatasetError` for types that tables cannot provide."""
    fields = {name: program.event[name] for name in program.event.names or ()}
    lists: Mapping[str, np.dtype[Any]] = {}
    every = frozenset(fields)
    kind_fields = tuple(every for _ in program.kinds)
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
    """The columns of a part that provide the required ones.

    Attributes:
        index: of the column, by role: `ts`, `key`, `kind`, or a field as `.name`; only columns of the part.
        kind: the kind of all rows; None: the column of `kind` holds it.
        names: of the columns, by role, including `BUILT_IN_COLUMNS`.
    """

    index: Mapping[str, int]
    kind: int | None
    names: Mapping[str, str]


def tables_of_kinds(
    tables: TableSet, required: RequiredColumns
) -> tuple[list[Table], RequiredColumns]:
    """Return the tables in the order of the kinds, and the fields that each kind's table has.

    Raises:
        DatasetError: a kind has no table, a table no kind, no table has a field, or two tables disagree on
            whether a field is a text.
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
                    f"table {table.label}: field {name} is a text in another table (ids), and is "
                    f'not one here; give ids=["{name}"] in all tables that have it'
                )
    return in_order, required


def _fields_of(table: Table, required: RequiredColumns) -> frozenset[str]:
    """Return the fields for which a table has a column, or that it declares."""
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
    """Reject declarations of a table that are wrong whatever columns it has.

    Raises:
        DatasetError: a declared field does not exist, a key is declared for a program without keys, or
            is missing for one with keys.
    """
    where = f"table {table.source.label}, program {required.program}"
    fields = (*required.fields, *required.lists)
    keys = (KEY,) if required.keyed else ()
    for what, names, others in (
        ("derive", table.derive, ()),
        ("scale", table.scale, ()),
        ("columns", table.columns, ()),
        ("ids", table.ids, ()),
        ("fill", table.fill, keys),
        ("skip_missing", table.skip_missing, keys),
    ):
        unknown = [name for name in names if name not in (*fields, *others)]
        if unknown:
            raise DatasetError(
                f"{where}: {what} names {', '.join(unknown)}, which is not a field of the program; "
                f"it has {', '.join(fields) or 'none'}"
            )
    for name in table.scale:
        if (
            name in table.ids
            or name in table.derive
            or required.fields.get(name, _BOOL).kind not in "iu"
        ):
            raise DatasetError(
                f"{where}: scale has {name}, which is not a field of whole numbers from a column of numbers"
            )
    for name in table.derive:
        if name in required.lists or name in table.columns:
            raise DatasetError(
                f"{where}: derive has {name}, which is a field of lists or in columns; give a field of "
                "numbers, booleans or texts"
            )
    for name in table.ids:
        if {**required.fields, **required.lists}[name].kind not in "iu":
            raise DatasetError(f"{where}: ids names {name}, whose type is not a whole number")
    for name, value in table.fill.items():
        _check_fill(table, required, name, value, where)
    if table.key is not None and not required.keyed:
        raise DatasetError(
            f"{where}: key is {table.key!r}, but the program has no keys; leave it out, "
            "and name the columns of its fields"
        )
    if table.key is None and not table.key_fields and required.keyed:
        raise DatasetError(f"{where}: the program is keyed; say which column is the key (key=...)")
    if table.kind is None and len(required.kinds) > 1:
        raise DatasetError(
            f"{where}: the program has the kinds {', '.join(required.kinds)}; say which column names "
            "them, or which kind all rows are of (kind=...)"
        )


def _check_fill(
    table: Table, required: RequiredColumns, name: str, value: object, where: str
) -> None:
    if name in table.skip_missing:
        raise DatasetError(f"{where}: {name} is in fill and in skip_missing; give one of them")
    if name in required.lists:
        raise DatasetError(
            f"{where}: fill has {name}, a field of lists; rows without one are empty"
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
    roles = {TS if at == 0 else f"{TS}.{at}": column for at, column in enumerate(table.times)}
    if table.key is not None:
        roles[KEY] = table.key
    if fixed is None:
        assert table.kind is not None, "check_meaning"
        roles[KIND] = table.kind
    needed = frozenset().union(*required.kind_fields) if fixed is None else required.kind_fields[fixed]
    for name in (*required.fields, *required.lists):
        column = table.column_of(name)
        made = column not in names and flagged_field(name, required.fields)
        if name in needed and column != NO_COLUMN and not made:
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
    count = names.count(column)
    if count == 1:
        return names.index(column)
    if count:
        raise DatasetError(
            f"{place}: {count} columns are called {column}; rename all but one of them"
        )
    if role.startswith("."):
        wants = f"field {role[1:]}; name its column ({role[1:]}=...), or {NO_COLUMN} for none"
    else:
        wants = f"{role}; name its column ({role}=...)"
    raise DatasetError(
        f"{place}: no column {column} for {wants}; there are {_list_names(names)}"
        + ("; is the delimiter right?" if len(names) == 1 else "")
    )


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_COLUMNS])
    return f"{shown}, and {len(names) - SHOWN_COLUMNS} more" if names[SHOWN_COLUMNS:] else shown
