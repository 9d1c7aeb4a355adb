"""Declares workloads of rows in a few lines: deduplication, alerts, chosen columns, late rows, rows of a function.

These functions are public names of `streamlab`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.declarative import row_stages, windows
from streamlab.workloads.declarative.declaration import (
    LATE_BY,
    AlertStep,
    Column,
    DeduplicateStep,
    FlatMapStep,
    SelectStep,
    WindowStep,
)
from streamlab.workloads.declarative.expressions import BOOL, INT, parse_expression
from streamlab.workloads.declarative.maker import (
    Filter,
    KeyNames,
    Length,
    Maker,
    Source,
    Where,
    check_count,
)
from streamlab.workloads.declarative.row_function import read_rows
from streamlab.workloads.model import ModelError, Window, Workload


@check_arguments(ModelError)
def deduplicate(
    *,
    key: KeyNames,
    input: Source,
    within: Length | None = None,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload:
    """Declare rows without duplicates: a row is output unless a row of its key was output at most `within` before.

    The state stores every key that occurs.

    Args:
        key: the column that is equal in duplicates, or a list of columns.
        input: see `window`.
        within: a length of time; None means at any time before.
        columns: further columns of the output; None means all columns of the input.
        where: see `window`.
        types: see `window`.
        name: see `window`.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "deduplicate")
    within_units = None if within is None else maker.length(within, "within")
    if key is None:
        raise ModelError(f"{maker.place}: key is None; give the name of a column, or a list")
    keys, keep = maker.find_key(key), maker.read_filter(where)
    others = maker.other_columns(columns, keys)
    output = maker.output_columns(keys, [], others)
    step = DeduplicateStep(within=within_units, columns=tuple(c.name for c in others))
    declared_step = maker.declare(
        step, keys, keep, (*others, *keep.reads), output, keep.is_user_function
    )
    return declared_step.pipeline(
        row_stages.deduplicate(
            name=declared_step.name,
            within=within_units,
            key=keys,
            columns=others,
            where=keep.function,
            output=output,
        )
    )


@check_arguments(ModelError)
def alert(
    condition: str,
    *,
    lasting: Length,
    input: Source,
    key: KeyNames | None = None,
    columns: Sequence[str] = (),
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload:
    """Declare alerts: the first row of a key at which a condition has held for `lasting`.

    The condition holds from a row that satisfies it to the next row of the key that does not. After that, the key can
    alert again. The output has the column `since`, the time of the first row that satisfied the condition.

    Args:
        condition: an expression such as "load > 80".
        lasting: a length of time.
        input: see `window`.
        key: see `window`.
        columns: further columns of the output.
        types: see `window`.
        name: see `window`.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "alert")
    lasting_units = maker.length(lasting, "lasting")
    keys = maker.find_key(key)
    place = f"{maker.place}: condition"
    holds = parse_expression(condition, maker.columns.finder(place), place)
    if holds.dtype != BOOL:
        raise ModelError(f'{place} is {condition!r}, a number; compare it, such as "load > 80"')
    others = maker.other_columns(columns, keys)
    since = Column(name="since", dtype=INT, is_time=True)
    output = maker.output_columns(keys, [since], others)
    step = AlertStep(
        condition=holds.text, lasting=lasting_units, columns=tuple(c.name for c in others)
    )
    keep = Filter(function=None, expression=None)
    declared_step = maker.declare(step, keys, keep, (*others, *holds.columns), output, False)
    return declared_step.pipeline(
        row_stages.alert(
            name=declared_step.name,
            condition=holds.code,
            lasting=lasting_units,
            key=keys,
            columns=others,
            output=output,
        )
    )


@check_arguments(ModelError)
def select(
    columns: Sequence[str] | Mapping[str, str],
    *,
    input: Source,
    where: Where | None = None,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload:
    """Declare rows with chosen columns, by name or as expressions: {"minutes": "duration / 60"}.

    The other arguments are as in `window`.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "select")
    chosen = columns if isinstance(columns, Mapping) else {name: name for name in columns}
    keep = maker.read_filter(where)
    values, output_columns, reads = [], [], []
    texts = dict(chosen)
    if not chosen:
        raise ModelError(f"{maker.place}: columns is empty; name at least one column")
    for column_name, text in chosen.items():
        place = f"{maker.place}: column {column_name}"
        if not isinstance(text, str):
            raise ModelError(f"{place} is {text!r:.60}; give an expression as a text")
        if text != "ts" and text.isidentifier():
            column = maker.columns.find(text, place)
            reads.append(column)
            values.append(f"t.{text}")
            output_columns.append(
                Column(
                    name=column_name,
                    dtype=column.dtype,
                    dictionary=column.dictionary,
                    is_time=column.is_time,
                )
            )
            continue
        expression = parse_expression(text, maker.columns.finder(place), place)
        reads += expression.columns
        values.append(expression.code)
        texts[column_name] = expression.text
        output_columns.append(
            Column(name=column_name, dtype=expression.dtype, is_time=text == "ts")
        )
    key = maker.find_key(None)
    output = maker.output_columns(key, [], output_columns)
    step = SelectStep(columns=texts)
    declared_step = maker.declare(
        step, key, keep, (*reads, *keep.reads), output, keep.is_user_function
    )
    return declared_step.pipeline(
        row_stages.select(
            name=declared_step.name, values=values, where=keep.function, output=output
        )
    )


@check_arguments(ModelError)
def late_rows(of: Workload, *, name: str | None = None) -> Workload:
    """Declare the rows that came too late for all windows of a workload, whether or not they satisfy its `where`.

    The output has the columns that the windows read, and `late_by`: the time from the row to the latest row read before
    it.

    Args:
        of: a `window` of a table with late="keep".
        name: name of the workload; None means the name of `of` with `_late_rows`.

    Raises:
        ModelError: `of` takes no late rows.
    """
    maker = Maker.for_caller(of, None, name, "late_rows")
    declaration = maker.columns.declaration
    step = None if declaration is None else declaration.step
    if declaration is None or not isinstance(step, WindowStep) or step.closes_after is None:
        raise ModelError(
            f"{maker.place}: {maker.columns.label} takes no late rows; give a lab.window of a table with "
            'late="keep", such as lab.csv(..., out_of_order="5 s", late="keep")'
        )
    reads = sorted(declaration.reads, key=lambda column: column.name != LATE_BY)
    key = maker.find_key(None)
    output = maker.output_columns(key, [], reads)
    names = {column.name: column.name for column in reads}
    maker = replace(
        maker,
        columns=replace(maker.columns, declaration=None),
        before=None,
        name=maker.name or f"{declaration.name}_late_rows",
    )
    declared_step = maker.declare(
        SelectStep(columns=names, too_late_for=step),
        key,
        Filter(function=None, expression=None),
        reads,
        output,
        False,
    )
    window = Window(advance=step.advance, size=step.size)
    return declared_step.pipeline(
        row_stages.select(
            name=declared_step.name,
            values=[f"t.{column}" for column in names],
            where=windows.late_condition(window, step.closes_after, is_late=True),
            output=output,
        )
    )


@check_arguments(ModelError)
def flat_map(
    function: Callable[[Any], Iterable[Mapping[str, object]]],
    *,
    most: int,
    input: Source,
    where: Where | None = None,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload:
    """Declare the rows that a function yields for each row of the input; they have the time of that row.

    The function yields a dictionary for each row, as in `yield {"place": ride.station, "change": -1}`. A text must
    be an unchanged value of a column; one output column may have texts of several columns.

    Args:
        function: a function of a row.
        most: the largest number of rows for one row of the input; more rows end the run with a message.
        input: see `window`.
        where: see `window`.
        types: see `window`.
        name: see `window`; None means the name of the function.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "flat_map")
    check_count(most, maker.place, "most")
    key, keep = maker.find_key(None), maker.read_filter(where)
    row_function = read_rows(function, most, maker.columns)
    output = maker.output_columns(key, [], row_function.output)
    reads = (*row_function.reads, *keep.reads)
    declared_step = maker.declare(
        FlatMapStep(most=most), key, keep, reads, output, True, row_function.name
    )
    return declared_step.pipeline(
        row_stages.flat_map(
            name=declared_step.name,
            give=row_function.give,
            most=most,
            where=keep.function,
            output=output,
        )
    )
