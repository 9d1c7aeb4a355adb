"""Declares workloads of windows in a few lines: of time, sessions, numbers of rows, and first rows.

These functions are public names of `streamlab`. Each returns a `Workload`, or takes a class and returns one.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack, overload

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.declarative import windows
from streamlab.workloads.declarative.arrival import check_time
from streamlab.workloads.declarative.class_form import ClassForm
from streamlab.workloads.declarative.declaration import (
    ARRIVAL,
    COUNT,
    EVENT,
    SESSION,
    SLIDING,
    TUMBLING,
    Aggregate,
    Column,
    SelectStep,
    TopStep,
    WindowStep,
)
from streamlab.workloads.declarative.expressions import BOOL, INT
from streamlab.workloads.declarative.maker import (
    Decorator,
    KeyNames,
    Length,
    Maker,
    Source,
    Where,
    check_count,
)
from streamlab.workloads.model import (
    ModelError,
    Window,
    Workload,
)
from streamlab.workloads.model.operators.program import DROP, FLUSH


class RowArguments(TypedDict, total=False):
    """Arguments of windows of any kind: see `window`."""

    key: KeyNames | None
    where: Where | None
    types: Mapping[str, type] | None
    name: str | None


class TimeArguments(RowArguments, total=False):
    """Arguments of windows that the end of the input may leave open."""

    at_end: str


class SizeArguments(TimeArguments, total=False):
    """Arguments of windows of a fixed length of time."""

    every: Length | None
    allowed_lateness: Length | None


@overload
def window(
    size: Length,
    *,
    input: Source,
    result: Mapping[str, Aggregate],
    time: str = EVENT,
    **more: Unpack[SizeArguments],
) -> Workload: ...


@overload
def window(size: Length, *, input: Source, **more: Unpack[SizeArguments]) -> Decorator: ...


@check_arguments(ModelError)
def window(
    size: Length,
    *,
    input: Source,
    result: Mapping[str, Aggregate] | None = None,
    every: Length | None = None,
    key: KeyNames | None = None,
    where: Where | None = None,
    allowed_lateness: Length | None = None,
    time: str = EVENT,
    at_end: str = DROP,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload | Decorator:
    """Declare windows of time, aligned to the epoch in UTC: tumbling, or with `every` sliding.

    An output has the time of its window's end. A window without rows has no output.

    Args:
        size: a length of time such as "15 min", or a timedelta.
        input: a table (`csv`, ...), a function that makes events, or a declared workload.
        result: aggregates by output column. None if this decorates a class with `add(self, row)` and `result(self)`.
        every: the time between the beginnings of windows; None means `size`.
        key: the column whose values have separate windows, or a list of columns. None if windows have rows of all keys.
        where: which rows count: an expression such as "duration > 60" or "station in ('Pier 40', 'Broadway')", or a
            function of a row.
        allowed_lateness: for an input with late="keep": the length of time for which a window still takes rows after
            the watermark has passed its end; None means 0. `late_rows` declares the rows that come later
            (docs/model.md, Late rows).
        time: "event", or "arrival" for windows of the time at which the source of an offered load sends a row, from
            the start of the load. With "arrival", `at_end` is "flush", and the lab checks totals instead of an answer
            (docs/model.md, Arrival time).
        at_end: windows that are open when the input ends have no output ("drop"), or are closed ("flush"). "flush"
            also closes the windows of the declared workload that makes the input.
        types: types of columns (int, float, bool, str), if the input's first rows do not show them.
        name: name of the workload; None means the name of the file or the class.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "window", FLUSH if time == ARRIVAL else at_end)
    size_units = maker.length(size, "the size of the window")
    advance = size_units if every is None else maker.length(every, "every")
    if advance > size_units:
        raise ModelError(f"{maker.place}: every is {every!r}, more than the size {size!r}")
    kind = TUMBLING if every is None or advance == size_units else SLIDING
    check_time(
        time,
        maker.place,
        maker.columns,
        is_sliced=size_units % advance == 0,
        where=where,
        result=result,
        allowed_lateness=allowed_lateness,
    )

    def make(class_form: ClassForm | None) -> Workload:
        return maker.window(
            kind, size_units, advance, key, where, result, class_form, allowed_lateness, time
        )

    return make(None) if result is not None else maker.decorator(make)


@overload
def session(
    pause: Length, *, input: Source, result: Mapping[str, Aggregate], **more: Unpack[TimeArguments]
) -> Workload: ...


@overload
def session(pause: Length, *, input: Source, **more: Unpack[TimeArguments]) -> Decorator: ...


@check_arguments(ModelError)
def session(
    pause: Length,
    *,
    input: Source,
    result: Mapping[str, Aggregate] | None = None,
    key: KeyNames | None = None,
    where: Where | None = None,
    at_end: str = DROP,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload | Decorator:
    """Declare sessions: rows of a key that come at most `pause` after the row before.

    The output has the columns `first` and `last`, the times of its first and last row. Its own time is the
    first multiple of `pause` at which the session is over. The arguments are as in `window`.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "session", at_end)
    units = maker.length(pause, "the pause that ends a session")

    def make(class_form: ClassForm | None) -> Workload:
        return maker.window(SESSION, units, units, key, where, result, class_form)

    return make(None) if result is not None else maker.decorator(make)


@overload
def count_window(
    rows: int, *, input: Source, result: Mapping[str, Aggregate], **more: Unpack[RowArguments]
) -> Workload: ...


@overload
def count_window(rows: int, *, input: Source, **more: Unpack[RowArguments]) -> Decorator: ...


@check_arguments(ModelError)
def count_window(
    rows: int,
    *,
    input: Source,
    result: Mapping[str, Aggregate] | None = None,
    key: KeyNames | None = None,
    where: Where | None = None,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload | Decorator:
    """Declare windows of `rows` rows of a key. An output has the time of its last row.

    The arguments are as in `window`.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "count_window")
    check_count(rows, maker.place, "rows")

    def make(class_form: ClassForm | None) -> Workload:
        return maker.window(COUNT, rows, rows, key, where, result, class_form)

    return make(None) if result is not None else maker.decorator(make)


@check_arguments(ModelError)
def top(
    most: int,
    *,
    by: str,
    input: Source,
    size: Length | None = None,
    key: KeyNames | None = None,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    at_end: str = DROP,
    types: Mapping[str, type] | None = None,
    name: str | None = None,
) -> Workload:
    """Declare the first `most` rows of each tumbling window by a column, largest first.

    The output has the columns `rank` (from 1), `by`, `columns`, and `at`, the time of the row. Rows of equal `by` are
    ordered by `columns`, ascending, then by time. Texts are ordered by their first appearance, after the texts that
    expressions name. NaN is last.

    Args:
        most: the number of rows of each window and key.
        by: a column of numbers.
        input: see `window`.
        size: length of the window; None means the advance of the windows of `input`, a declared workload.
        key: see `window`.
        columns: further columns of the output. None means all columns of a declared workload, and no column of another
            input.
        where: see `window`.
        at_end: see `window`.
        types: see `window`.
        name: see `window`.

    Raises:
        ModelError: the declaration is wrong; the message names the place.
    """
    maker = Maker.for_caller(input, types, name, "top", at_end)
    check_count(most, maker.place, "most")
    before = maker.columns.declaration
    if size is not None:
        size_units = maker.length(size, "the size of the window")
    else:
        windows_before = before
        while windows_before is not None and isinstance(windows_before.step, SelectStep):
            windows_before = windows_before.before
        step_before = None if windows_before is None else windows_before.step
        if not isinstance(step_before, WindowStep) or step_before.kind == COUNT:
            raise ModelError(f'{maker.place}: give the size of the window, such as size="1 h"')
        size_units = step_before.advance
    keys, keep = maker.find_key(key), maker.read_filter(where)
    column = maker.columns.find(by, f"{maker.place}: by")
    if column.dictionary is not None or column.dtype == BOOL:
        raise ModelError(f"{maker.place}: by is {by}, which is not a column of numbers")
    if columns is None:
        columns = maker.columns.names() if before is not None else ()
    others = [n for n in maker.check_names(columns) if n != by and n not in keys.names]
    shown = [column, *(maker.columns.find(other, f"{maker.place}: columns") for other in others)]
    rank = Column(name=windows.RANK, dtype=INT)
    time_column = Column(name=windows.AT, dtype=INT, is_time=True)
    output = maker.output_columns(keys, [rank], [*shown, time_column])
    step = TopStep(most=most, size=size_units, by=by, columns=tuple(others))
    declared_step = maker.declare(
        step, keys, keep, (*shown, *keep.reads), output, keep.is_user_function
    )
    return declared_step.query(
        windows.top(
            name=declared_step.name,
            source=declared_step.source,
            most=most,
            window=Window(advance=size_units, size=size_units),
            key=keys,
            columns=shown,
            where=keep.function,
            output=output,
            may_be_nan=before is not None,
        )
    )
