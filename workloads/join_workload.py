"""Declares the join of two tables as a workload, in one call."""

import keyword
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, TableSet
from streamlab.workloads.datasets.tables.header_types import DTYPES, read_header
from streamlab.workloads.datasets.tables.lateness import KEEP
from streamlab.workloads.datasets.tables.table import START
from streamlab.workloads.datasets.tables.table_reader import KEYS
from streamlab.workloads.datasets.times.duration import parse_duration
from streamlab.workloads.declarative.declaration import Column, Declaration, JoinStep
from streamlab.workloads.join_program import (
    LEFT,
    MATCHED,
    RIGHT,
    JoinField,
    JoinShape,
    asof_join,
    inner_join,
    left_join,
)
from streamlab.workloads.model import ModelError, OutputType, Workload
from streamlab.workloads.model.answers.output_order import inferred_output, never
from streamlab.workloads.model.operators.program import DROP
from streamlab.workloads.user_workload import beside, caller_file, name_of_file, program_workload

How = Literal["inner", "left", "asof"]
Within = int | str | tuple[int | str, int | str]
_RESERVED = frozenset({"ts", "kind", "key", "input", "left", "tuples", MATCHED})
_INT, _TEXT_ID = np.dtype(np.int64), np.dtype(np.int32)
_KEY_TYPES = (_INT, None)


@check_arguments(ModelError)
def join(
    left: Table,
    right: Table,
    *,
    on: str | tuple[str, str],
    within: Within | None = None,
    how: How = "inner",
    select: Mapping[str, str] | None = None,
    types: Mapping[str, type] | None = None,
    every: int | str | None = None,
    most: int = 4096,
    at_end: str = DROP,
    name: str | None = None,
    title: str | None = None,
) -> Workload:
    """Return the workload that joins the rows of two tables. Call it from the file that declares the workload.

    - `inner`: all pairs of rows with equal `on` whose times are within the bounds. `ts` is one unit after the
      later row. The program is an O+ (`equi_join`).
    - `left`: these pairs, and each left row without a partner once its bound has passed. `ts` is the end of the
      step of `every` in which the row is certain. The program is an O+.
    - `asof`: each left row with the latest right row at or before it; of right rows of one time, the last. `ts` is
      the time of the left row. The program is a DGS program. A right table without times (`ts="@start"`) is there
      before all left rows.

    In `left` and `asof`, `matched` is False in rows without a partner: numbers of the right side are then 0, texts
    are missing (number -1). A left row whose bound has not passed when the input ends gives no such row, unless
    `at_end` is "flush".

    The types of columns are those of the tables' first rows: int64, float64, bool or text, unless `types` has them.

    Args:
        left: a table without `key`, `kind`, `columns` and `ids`, which the join declares.
        right: the other table, likewise.
        on: the column of equal values in both tables, whole numbers or texts; or the column of each.
        within: the largest difference of times, such as `"10 min"`; or a pair (before, after): the right row is at
            most `before` earlier and at most `after` later than the left one. With `asof` the largest age of the
            right row; None: any.
        how: `inner`, `left` or `asof`.
        select: the output's fields by name, as `"left.COLUMN"` or `"right.COLUMN"`; the column of times gives the
            row's event time. None: all columns; one of the right with a name of the left gets the prefix `right_`.
            The output begins with `ts` and the first column of `on`.
        types: `int`, `float`, `bool` or `str` by column, of either table.
        every: of `left`: the step in which rows without a partner leave; None: a tenth of the later bound.
        most: of `left`: the most partners that a row may have, and the most rows of one key that leave unmatched
            in a step; more end a run on compiled engines with an error.
        at_end: of `left`: the end of the input leaves rows without a partner out ("drop") or in ("flush").
        name: as in `workload`.
        title: as in `workload`.

    Raises:
        ModelError: an argument does not fit the tables.
        DatasetError: a table cannot be read.
    """
    file = caller_file()
    sides = {LEFT: beside(_plain(left, LEFT), file), RIGHT: beside(_plain(right, RIGHT), file)}
    unit = sides[LEFT].unit
    if how not in ("inner", "left", "asof"):
        raise ModelError(f"lab.join: how is {how!r}; give 'inner', 'left' or 'asof'")
    if at_end != DROP and how != "left":
        raise ModelError(
            f"lab.join: at_end is {at_end!r}, which is only for how='left'; leave it out"
        )
    if not isinstance(on, str) and not (isinstance(on, tuple) and len(on) == 2):
        raise ModelError(
            f"lab.join: on is {on!r:.60}; give one column, or the tuple (left column, right column); to "
            "join on several columns, derive one from them in both tables (derive={...})"
        )
    columns = dict(zip((LEFT, RIGHT), (on, on) if isinstance(on, str) else on, strict=True))
    before, after = _bounds(within, how, unit)
    if START in (*sides[LEFT].times, *sides[RIGHT].times) and (how != "asof" or within is not None):
        raise ModelError(
            f"lab.join: a table without times ({START}) can only be the right one of how='asof', "
            "without within"
        )
    key, key_type, fields, sources = _fields(sides, columns, select, types or {})
    step = max(1, after // 10) if every is None else parse_duration(every, unit, "lab.join: every")
    shape = JoinShape(
        name=_identifier(name or name_of_file(file) or "join"),
        key=key,
        key_dtype=_TEXT_ID if key_type is None else key_type,
        fields=fields,
        before=before,
        after=after,
        every=max(1, step),
        most=most,
    )
    texts = {f.name for f in fields if f.text}
    tables = {}
    for side, table in sides.items():
        mapping = {f.name: sources[f.name] for f in fields if f.side == side and not f.time}
        ids = tuple(n for n in mapping if n in texts)
        if how == "asof":
            renamed = _renamed(table, {**mapping, "key": columns[side]})
            tables[side] = replace(renamed, key=columns[side], ids=ids)
        else:
            keys = (key,) if key_type is None else ()
            renamed = _renamed(table, {**mapping, key: columns[side]})
            tables[side] = replace(renamed, ids=(*keys, *ids))
    if how == "asof":
        program: Any = asof_join(shape, bounded=within is not None)
        output = OutputType(kinds=(shape.name,), depends=never, key_field=key)
    else:
        query = inner_join(shape) if how == "inner" else left_join(shape)
        program = replace(query, at_end=at_end)
        output = inferred_output(program)
    return replace(
        program_workload(
            program,
            TableSet(by_kind=tables),
            name=name or name_of_file(file) or program.name,
            output=output,
            declaration=_declaration(shape, how, key_type is None, program.output, unit),
        ),
        title=title or f"{how} join of {sides[LEFT].label} and {sides[RIGHT].label}",
    )


def _declaration(
    shape: JoinShape, how: How, text_key: bool, output: np.dtype[np.void], unit: str
) -> Declaration:
    """Return what the columns of the output hold, so that other steps can read it."""
    dictionaries = {f.name: f.name for f in shape.fields if f.text}
    if how == "asof" or text_key:
        dictionaries[shape.key] = KEYS if how == "asof" else shape.key
    times = {"ts", *(f.name for f in shape.fields if f.time)}
    columns = tuple(
        Column(name=n, dtype=output[n], dictionary=dictionaries.get(n), is_time=n in times)
        for n in output.names or ()
    )
    return Declaration(
        name=shape.name,
        step=JoinStep(how=how),
        keys=(),
        where=None,
        reads=(),
        output=columns,
        user_functions=False,
        unit=unit,
    )


def _renamed(table: Table, columns: Mapping[str, str]) -> Table:
    """Return a table whose settings by column are by field; those of unread columns stay, and are refused."""
    read = set(columns.values())

    def by_field(settings: Mapping[str, Any]) -> dict[str, Any]:
        renamed = {name: settings[c] for name, c in columns.items() if c in settings}
        return {**renamed, **{name: each for name, each in settings.items() if name not in read}}

    derive = {name: table.derive[c] for name, c in columns.items() if c in table.derive}
    plain = {name: c for name, c in columns.items() if c not in table.derive and name != "key"}
    return replace(
        table,
        columns=plain,
        fill=by_field(table.fill),
        scale=by_field(table.scale),
        derive=derive,
        skip_missing=tuple(by_field(dict.fromkeys(table.skip_missing))),
    )


def _plain(table: Table, side: str) -> Table:
    if not isinstance(table, Table):
        raise ModelError(f"lab.join: {side} is a {type(table).__name__}; give a table (lab.csv...)")
    for role in ("key", "kind", "columns", "ids"):
        if getattr(table, role):
            raise ModelError(
                f"lab.join: table {table.label} has {role}={getattr(table, role)!r}, which the join "
                "declares (on=, select=); leave it out"
            )
    if table.late == KEEP:
        raise ModelError(
            f'lab.join: table {table.label} has late="keep", but a join reads no late rows; give late="drop"'
        )
    return table


def _bounds(within: Within | None, how: How, unit: str) -> tuple[int, int]:
    where = "lab.join: within"
    if within is None:
        if how != "asof":
            raise ModelError(
                f"{where} is missing; give the largest difference of times, as '10 min'"
            )
        return 0, 0
    if not isinstance(within, tuple):
        bound = parse_duration(within, unit, where)
        return bound, bound
    if how == "asof" or len(within) != 2:
        raise ModelError(f"{where} is {within!r}; give one duration, or for inner and left a pair")
    return parse_duration(within[0], unit, where), parse_duration(within[1], unit, where)


def _fields(
    sides: Mapping[str, Table],
    on: Mapping[str, str],
    select: Mapping[str, str] | None,
    types: Mapping[str, type],
) -> tuple[str, np.dtype[Any] | None, tuple[JoinField, ...], dict[str, str]]:
    """Return the field of keys, its type (None: text), the output's fields, and the column of each."""
    columns = _default_columns(sides, on) if select is None else _selected(select)
    headers = {}
    for side, table in sides.items():
        wanted = [
            column for s, column in columns.values() if s == side and column not in table.times
        ]
        try:
            headers[side] = read_header(table, [on[side], *wanted])
        except DatasetError as error:
            raise DatasetError(f"lab.join: {error}") from None
    read = {name for header in headers.values() for name in header.types}
    for name, kind in types.items():
        if name not in read or kind not in DTYPES:
            raise ModelError(
                f"lab.join: types has {kind!r} for {name}; give int, float, bool or str for one of "
                f"{', '.join(sorted(read))}"
            )
        for header in headers.values():
            header.types.update({name: DTYPES[kind]} if name in header.types else {})
    key_types = [headers[side].types[on[side]] for side in sides]
    for side, dtype in zip(sides, key_types, strict=True):
        if dtype not in _KEY_TYPES:
            raise ModelError(
                f"lab.join: column {on[side]} of {sides[side].label} holds {dtype}; join on whole "
                "numbers or texts"
            )
    key_type = _INT if key_types == [_INT, _INT] else None
    key = _identifier(on[LEFT])
    fields = []
    for name, (side, column) in columns.items():
        if (side, column) == (side, on[side]) and name == key:
            continue
        time = column in sides[side].times
        dtype = _INT if time else headers[side].types[column]
        fields.append(
            JoinField(
                name=name,
                side=side,
                dtype=_TEXT_ID if dtype is None else dtype,
                text=dtype is None,
                time=time,
            )
        )
    if key in {field.name for field in fields}:
        raise ModelError(f"lab.join: field {key} of select is the key already; give another name")
    return key, key_type, tuple(fields), {name: column for name, (_, column) in columns.items()}


def _selected(select: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    columns = {}
    for name, path in select.items():
        side, dot, column = str(path).partition(".")
        if side not in (LEFT, RIGHT) or not dot or not column:
            raise ModelError(
                f"lab.join: select has {name!r}: {path!r}; give 'left.COLUMN' or 'right.COLUMN'"
            )
        if _identifier(name) != name:
            raise ModelError(
                f"lab.join: select names a field {name!r}; give a Python name other than "
                f"{', '.join(sorted(_RESERVED))}"
            )
        columns[name] = (side, column)
    return columns


def _default_columns(
    sides: Mapping[str, Table], on: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    columns: dict[str, tuple[str, str]] = {}
    for side, table in sides.items():
        for column in read_header(table, []).names:
            if column == on[side]:
                continue
            name = _identifier(column)
            taken = name in columns or name == _identifier(on[LEFT])
            columns[_identifier(f"{side}_{column}") if taken else name] = (side, column)
    return columns


def _identifier(text: str) -> str:
    """Return a text as the name of a field."""
    name = re.sub(r"\W", "_", text)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _RESERVED or keyword.iskeyword(name) else name
