"""Declares the join of two tables as a workload, in one call."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.datasets.tables import Table, TableSet
from streamlab.workloads.datasets.tables.lateness import KEEP
from streamlab.workloads.datasets.tables.table import START
from streamlab.workloads.datasets.times.duration import parse_duration
from streamlab.workloads.declarative.declaration import (
    ASOF,
    INNER,
    LEFT,
    OUTER,
    RIGHT,
    Declaration,
    JoinStep,
)
from streamlab.workloads.declarative.keys import Key
from streamlab.workloads.join_columns import JoinColumns, On, identifier
from streamlab.workloads.join_program import (
    JoinShape,
    asof_join,
    inner_join,
    left_join,
)
from streamlab.workloads.model import ModelError, OutputType, Workload
from streamlab.workloads.model.answers.output_order import inferred_output, never
from streamlab.workloads.model.operators.program import DROP, FLUSH
from streamlab.workloads.user_workload import caller_file, locate, name_of_file, program_workload

How = Literal["inner", "left", "asof"]
Within = int | str | tuple[int | str, int | str]


_T = TypeVar("_T")


@check_arguments(ModelError)
def join(
    left: Table,
    right: Table,
    *,
    on: On,
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
    - `left`: these pairs, and each left row without a partner after its bound has passed. `ts` of such a row is the
      end of the step of `every` in which its bound passes. The program is an O+.
    - `asof`: each left row with the latest right row at or before it. Of several right rows of that time, it is the
      last. `ts` is the time of the left row. The program is a DGS program. A right table without times (`ts="@start"`)
      is before all left rows.

    In `left` and `asof`, `matched` is False in rows without a partner. Expressions then read numbers of the right side
    as 0 and texts as missing (number -1). If the bound of a left row has not passed when the input ends, the row is
    left out unless `at_end` is "flush".

    The tables' first rows determine the types of columns (int64, float64, bool or text), unless `types` has them.

    Args:
        left: the left table. The join declares its `key`, `kind`, `columns` and `ids`.
        right: the right table, likewise.
        on: the column of equal values in both tables, with whole numbers or texts; the tuple (left column, right
            column); or a list of these for several columns.
        within: the largest difference of times, such as `"10 min"`. A pair (before, after) allows right rows that are
            at most `before` earlier and at most `after` later than the left row. With `asof` it is the largest age of
            the right row, and None allows any age.
        how: `inner`, `left` or `asof`.
        select: the output's fields by name: `"left.COLUMN"`, `"right.COLUMN"` or an expression of these
            (`streamlab.select`). The column of times is the row's event time. None selects all columns. A right column
            with the name of a left one gets the prefix `right_`. The output begins with `ts` and the left columns of
            `on`.
        types: `int`, `float`, `bool` or `str` by column of either table.
        every: for `left`: rows without a partner are output at multiples of this time; None: a tenth of the later
            bound.
        most: for `left`: the maximum number of partners of a row, and of rows of one key that leave without a partner
            in a step. On compiled engines, a run with more ends with an error.
        at_end: for `left`: whether rows without a partner at the end of the input are left out ("drop") or put out
            ("flush").
        name: the workload's name, see `workload`.
        title: one line for people, see `workload`.

    Raises:
        ModelError: an argument does not fit the tables.
        DatasetError: a table cannot be read.
    """
    file = caller_file()
    sides = {
        LEFT: locate(_check_side(left, LEFT), file),
        RIGHT: locate(_check_side(right, RIGHT), file),
    }
    unit = sides[LEFT].unit
    if how not in (INNER, OUTER, ASOF):
        raise ModelError(f"lab.join: how is {how!r}; give 'inner', 'left' or 'asof'")
    if at_end != DROP and how != OUTER:
        raise ModelError(
            f"lab.join: at_end is {at_end!r}, but only how='left' has at_end; leave it out"
        )
    before, after = _bounds(within, how, unit)
    if START in (*sides[LEFT].times, *sides[RIGHT].times) and (how != ASOF or within is not None):
        raise ModelError(
            f"lab.join: only the right table of how='asof' without within can have no times ({START}); name "
            "a column of times (ts=...)"
        )
    columns = JoinColumns.resolve(sides, on, select, types or {})
    step = max(1, after // 10) if every is None else parse_duration(every, unit, "lab.join: every")
    shape = JoinShape(
        name=identifier(name or name_of_file(file) or "join"),
        key=Key(columns=columns.keys),
        columns=tuple(columns.columns),
        values=tuple(columns.values),
        before=before,
        after=after,
        step=max(1, step),
        max_outputs=most,
    )
    tables = TableSet(
        by_kind={side: _with_fields(table, side, columns) for side, table in sides.items()}
    )
    if how == ASOF:
        names = shape.key.names
        keyed = {kind: replace(table, key_fields=names) for kind, table in tables.by_kind.items()}
        tables = TableSet(by_kind=keyed)
        program: Any = asof_join(shape, bounded=within is not None)
        output = OutputType(kinds=(shape.name,), depends=never)
    else:
        query = inner_join(shape) if how == INNER else left_join(shape)
        program = replace(query, at_end=at_end)
        output = inferred_output(program)
    declaration = Declaration(
        name=shape.name,
        step=JoinStep(
            how=how,
            keys=columns.keys,
            columns={
                side: tuple(field.column for field in columns.columns if field.side == side)
                for side in sides
            },
            values={value.column.name: value.text for value in columns.values},
            before=None if within is None else before,
            after=0 if how == ASOF else after,
            every=shape.step,
        ),
        keys=(),
        where=None,
        reads=(),
        output=shape.output(matched=how != INNER),
        user_functions=False,
        unit=unit,
        flushes=at_end == FLUSH,
    )
    return replace(
        program_workload(
            program,
            tables.with_first_texts(columns.text_dictionaries, columns.texts),
            name=name or name_of_file(file) or program.name,
            output=output,
            declaration=declaration,
        ),
        title=title or f"{how} join of {sides[LEFT].label} and {sides[RIGHT].label}",
    )


def _with_fields(table: Table, side: str, columns: JoinColumns) -> Table:
    """Return a table that declares the fields of a side."""
    side_columns = [field.column for field in columns.columns if field.side == side]
    keys = zip(columns.keys, columns.columns_of_keys[side], strict=True)
    sources = {key.name: source for key, source in keys}
    sources |= {column.name: columns.sources[column.name] for column in side_columns}
    fields = (*columns.keys, *side_columns)
    ids = tuple(column.name for column in fields if column.dictionary is not None)
    return replace(_rename_columns(table, sources), ids=ids)


def _rename_columns(table: Table, columns: Mapping[str, str]) -> Table:
    """Return a table whose settings by column become settings by field.

    Settings of unread columns stay, so that `check_meaning` refuses them.
    """
    read = set(columns.values())

    def by_field(settings: Mapping[str, _T]) -> dict[str, _T]:
        renamed = {name: settings[c] for name, c in columns.items() if c in settings}
        return {**renamed, **{name: value for name, value in settings.items() if name not in read}}

    derive = {name: table.derive[c] for name, c in columns.items() if c in table.derive}
    return replace(
        table,
        columns={name: c for name, c in columns.items() if c not in table.derive},
        fill=by_field(table.fill),
        scale=by_field(table.scale),
        derive=derive,
        skip_missing=tuple(by_field(dict.fromkeys(table.skip_missing))),
    )


def _check_side(table: Table, side: str) -> Table:
    """Return a table after checking that it lacks the settings that the join declares; raises `ModelError`."""
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
            f'lab.join: table {table.label} has late="keep", but joins cannot read late rows; give late="drop"'
        )
    return table


def _bounds(within: Within | None, how: How, unit: str) -> tuple[int, int]:
    """Return `before` and `after` in units of event time."""
    where = "lab.join: within"
    if within is None:
        if how != ASOF:
            raise ModelError(
                f"{where} is missing; give the largest difference of times, as '10 min'"
            )
        return 0, 0
    if not isinstance(within, tuple):
        bound = parse_duration(within, unit, where)
        return bound, bound
    if how == ASOF or len(within) != 2:
        raise ModelError(
            f"{where} is {within!r}; give a duration, or a pair of durations for inner and left"
        )
    return parse_duration(within[0], unit, where), parse_duration(within[1], unit, where)
