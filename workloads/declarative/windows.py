"""Builds queries of operators O+ from declared windows.

Tumbling and sliding windows are `aggregate`s. An output is timed with the right boundary of its window.

A session is a `single` window that advances by the longest pause. A session ends when its key has no row for longer
than the pause. `update` closes the session at a later row of the key, or `expire` closes the session at a boundary of
the window. The output has the time of that boundary: the first multiple of the pause that is more than a pause after
the session's last row.

`top` returns an aggregate with sorted arrays in its state: the first rows by a column.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.datasets.times.duration import PER_SECOND
from streamlab.workloads.declarative.aggregates import AggregateCode
from streamlab.workloads.declarative.class_form import ClassForm
from streamlab.workloads.declarative.declaration import (
    COUNT,
    LATE_BY,
    SESSION,
    Column,
    Declaration,
    TopStep,
    WindowStep,
)
from streamlab.workloads.declarative.keys import Key
from streamlab.workloads.declarative.state_functions import clear
from streamlab.workloads.model import InputType, Operator, Window, Workload, aggregate
from streamlab.workloads.model.code.generated import define
from streamlab.workloads.model.operators.program import SINGLE

FIRST, LAST = "first", "last"
"""Output columns of sessions: the times of their first and last row."""

AT, RANK = "at", "rank"
"""Output columns of the first rows by a column: the time of the row, and its rank from 1."""

_FIRST, _LAST, _OPEN = "first_", "last_", "open_"
"""Fields of a session's state: the times of its first and last row, and whether it has rows."""
_TAKEN = "taken_"
"""Field of a sliding window's state: whether a row came in time for the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The functions of a window on its state `s`, made from a class or from named aggregates.

    Attributes:
        state: fields of the state, in the form that `numpy.dtype` takes.
        add: `add(s, t)`, which adds the row `t`.
        give: takes expressions over `s`; returns `give(s, out)`, which emits these and then the result.
        reads: columns of a row.
        output: columns of the result.
    """

    state: Sequence[tuple[Any, ...]]
    add: Callable[[Any, Any], None]
    give: Callable[[Sequence[str]], Callable[[Any, Any], None]]
    reads: tuple[Column, ...]
    output: tuple[Column, ...]


def body_of_class(class_form: ClassForm, key: Key) -> Body:
    """Return the functions of a class."""
    me = class_form.result.parameters[0]
    return Body(
        state=class_form.state,
        add=class_form.add,
        give=lambda prefix: class_form.make_result(
            [text.replace("s.", f"{me}.") for text in prefix], key=key.state_expressions(me)
        ),
        reads=class_form.reads,
        output=class_form.output,
    )


def body_of_aggregates(code: AggregateCode) -> Body:
    """Return the functions of named aggregates."""

    def give(prefix: Sequence[str]) -> Callable[[Any, Any], None]:
        values = ", ".join((*prefix, *code.values))
        return define("result", "s, out", [f"out.emit({values})"], code.names)

    return Body(
        state=code.state,
        add=define("add", "s, t", code.adding, code.names),
        give=give,
        reads=tuple(code.reads),
        output=tuple(code.output),
    )


def fields_of(columns: Sequence[Column]) -> np.dtype[np.void]:
    """Return the structured dtype of columns; repeated columns are left out."""
    return np.dtype(list({column.name: column.dtype for column in columns}.items()))


def clock_note(workload: Workload) -> str | None:
    """Return a note if windows, such as days, do not begin by the clock of the input's zone; else None."""
    table, declaration = workload.source, workload.declaration
    if not isinstance(table, Table) or not isinstance(declaration, Declaration):
        return None
    zone = ZoneInfo(table.zone)
    clocks = [datetime(2024, month, 1, tzinfo=zone).utcoffset() for month in (1, 7)]
    for part in declaration.steps():
        step = part.step
        if not isinstance(step, WindowStep | TopStep) or (
            isinstance(step, WindowStep) and step.kind in (SESSION, COUNT)
        ):
            continue
        advance = step.advance if isinstance(step, WindowStep) else step.size
        shifts = (clock.total_seconds() * PER_SECOND[part.unit] for clock in clocks if clock)
        if any(shift % advance for shift in shifts):
            return (
                f"windows of {part.name} begin by the clock of UTC, not of {table.zone}: a day begins at midnight "
                "UTC; if the input's times have no zone, leave zone= out, and windows begin by their clock"
            )
    return None


def time_window(
    *,
    name: str,
    source: InputType,
    body: Body,
    window: Window,
    key: Key,
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
    closes_after: int | None,
) -> Operator:
    """Return a tumbling or sliding window without rows that are too late for it (`WindowStep.closes_after`)."""
    add, give = body.add, body.give(key.state_expressions("s"))
    state = [*body.state]
    if closes_after is not None:
        where = late_condition(window, closes_after, is_late=False, where=where)
        if window.advance < window.size:  # a row may be too late for its earlier windows
            state.append((_TAKEN, np.int8))
            is_open = f"if t.ts + t.{LATE_BY} < s.left + {window.size + closes_after}:"
            lines = [is_open, f"    s.{_TAKEN} = 1", "    add(s, t)"]
            add = define("add_in_time", "s, t", lines, {"add": add})
            lines = [f"if s.{_TAKEN} != 0:", "    give(s, out)"]
            give = define("result", "s, out", lines, {"give": give})
    return aggregate(
        name=name,
        source=source,
        window=window,
        key=key.function(),
        where=where,
        reduce=add,
        result=give,
        state=np.dtype(state),
        output=fields_of(output),
    )


def late_condition(
    window: Window,
    closes_after: int,
    *,
    is_late: bool,
    where: Callable[[Any], bool] | None = None,
) -> Callable[[Any], bool]:
    """Return a condition: a row satisfies `where` and is late for all its windows (`is_late`), or in time for one."""
    end = f"t.ts - t.ts % {window.advance} + {window.size + closes_after}"
    condition = f"t.ts + t.{LATE_BY} {'>=' if is_late else '<'} {end}"
    if where is None:
        return define("in_time", "t", [f"return {condition}"], {})
    return define("in_time", "t", [f"return {condition} and where(t)"], {"where": where})


def session(
    *,
    name: str,
    source: InputType,
    body: Body,
    pause: int,
    key: Key,
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Operator:
    """Return sessions that end when no row comes for longer than `pause`."""
    state = np.dtype([*body.state, (_FIRST, np.int64), (_LAST, np.int64), (_OPEN, np.int8)])
    prefix = [*key.state_expressions("s"), f"s.{_FIRST}", f"s.{_LAST}"]
    clearing = []
    for field in state.names or ():
        is_array = state[field].subdtype is not None
        clearing.append(f"clear(s.{field})" if is_array else f"s.{field} = 0")
    reset = define("reset", "s", clearing, {"clear": clear})
    names = {"add": body.add, "give": body.give(prefix), "reset": reset}
    update = [
        "s = w[0]",
        f"if s.{_OPEN} != 0 and t.ts - s.{_LAST} > {pause}:",
        "    give(s, out)",
        "    reset(s)",
        f"if s.{_OPEN} == 0:",
        f"    s.{_OPEN} = 1",
        f"    s.{_FIRST} = t.ts",
        f"s.{_LAST} = t.ts",
        "add(s, t)",
    ]
    is_over = f"if s.{_OPEN} != 0 and s.{_LAST} + {pause} < s.left"
    expire = ["s = w[0]", f"{is_over} + {2 * pause}:", "    give(s, out)"]
    slide = ["s = w[0]", f"{is_over} + {pause}:", "    reset(s)"]  # `left` has advanced
    return Operator(
        name=name,
        inputs=(source,),
        # A flush reaches one window size beyond the last row, and so the boundary at which the session is over.
        window=Window(advance=pause, size=2 * pause, type=SINGLE),
        output=fields_of(output),
        state=state,
        keys=_keys(key, where),
        update=define("update", "w, t, out", update, names),
        expire=define("expire", "w, out", expire, names),
        slide=define("slide", "w", slide, names),
        emits_on_update=True,
    )


def _keys(key: Key, where: Callable[[Any], bool] | None) -> Callable[[Any, Any], None]:
    """Return the function that emits the key of a row if the row satisfies `where`."""
    lines = ["out.add(key(t))"] if where is None else ["if where(t):", "    out.add(key(t))"]
    names = {"key": key.function()} | ({} if where is None else {"where": where})
    return define("keys", "t, out", lines, names)


def top(
    *,
    name: str,
    source: InputType,
    most: int,
    window: Window,
    key: Key,
    columns: Sequence[Column],
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
    may_be_nan: bool,
) -> Operator:
    """Return the first `most` rows of each window, ordered by `columns` and time.

    `may_be_nan`: whether floats can be NaN.
    """
    fields = [*(column.name for column in columns), "ts"]
    slots = [f"{field}_{index}_" for index, field in enumerate(fields)]
    better = f"t.{fields[-1]} < s.{slots[-1]}[p - 1]"
    for number, column in reversed([*enumerate(columns)]):
        row, slot = f"t.{column.name}", f"s.{slots[number]}[p - 1]"
        before = f"{row} {'<' if number else '>'} {slot}"
        equal = f"{row} == {slot}"
        if may_be_nan and column.dtype.kind == "f":  # NaN is last
            before = f"{before} or {slot} != {slot} and {row} == {row}"
            equal = f"({equal} or {slot} != {slot} and {row} != {row})"
        better = f"{before} or {equal} and ({better})"
    add = [
        "p = s.count_",
        f"while p > 0 and ({better}):",
        "    p -= 1",
        f"if p < {most}:",
        f"    if s.count_ < {most}:",
        "        s.count_ += 1",
        "    e = s.count_ - 1",
        "    while e > p:",
        *(f"        s.{slot}[e] = s.{slot}[e - 1]" for slot in slots),
        "        e -= 1",
        *(f"    s.{slot}[p] = t.{field}" for field, slot in zip(fields, slots, strict=True)),
    ]
    dtypes = [*(column.dtype for column in columns), np.dtype(np.int64)]
    is_bool = [dtype == np.bool_ for dtype in dtypes]  # Numba has no arrays of bool in a record
    slot_values = (
        f"s.{slot}[r]" + " != 0" * flag for slot, flag in zip(slots, is_bool, strict=True)
    )
    dtypes = [
        np.dtype(np.int8) if flag else dtype for dtype, flag in zip(dtypes, is_bool, strict=True)
    ]
    values = ", ".join([*key.state_expressions("s"), "r + 1", *slot_values])
    result = ["for r in range(s.count_):", f"    out.emit({values})"]
    state = [(slot, dtype, (most,)) for slot, dtype in zip(slots, dtypes, strict=True)]
    return aggregate(
        name=name,
        source=source,
        window=window,
        key=key.function(),
        where=where,
        reduce=define("add", "s, t", add, {}),
        result=define("result", "s, out", result, {}),
        state=np.dtype([("count_", np.int64), *state]),
        output=fields_of(output),
        max_outputs=most,
    )
