"""Builds queries of operators O+ from declared windows.

Tumbling and sliding windows are `aggregate`s. An output is timed with the right boundary of its window.

A session is a `single` window that advances by the longest pause. A session ends when its key has no row for
longer than the pause: `update` closes it if a later row shows that, `expire` if a boundary of the window does. Its
output is timed with that boundary, the first multiple of the pause after its last row by more than the pause.

The first rows by a column are an aggregate with sorted arrays in its state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.datasets.times.recognition import PER_SECOND
from streamlab.workloads.declarative.aggregates import AggregateCode
from streamlab.workloads.declarative.class_form import ClassForm
from streamlab.workloads.declarative.declaration import (
    COUNT,
    SESSION,
    Column,
    Declaration,
    TopStep,
    WindowStep,
)
from streamlab.workloads.declarative.generated_code import define
from streamlab.workloads.declarative.state_functions import clear
from streamlab.workloads.model import InputType, Operator, Window, Workload, aggregate
from streamlab.workloads.model.operators.program import SINGLE

FIRST, LAST = "first", "last"
"""Output columns of sessions: the times of their first and last row."""

AT, RANK = "at", "rank"
"""Output columns of the first rows by a column: the time of the row, and its rank from 1."""

_FIRST, _LAST, _OPEN = "first_", "last_", "open_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The functions of a window over a state `s`, in either form of declaration.

    Attributes:
        state: fields, as for `numpy.dtype`.
        add: `add(s, t)`.
        give: returns `give(s, out)`, which emits expressions over `s` and then the result.
        reads: columns of a row.
        output: columns of the result.
    """

    state: Sequence[tuple[Any, ...]]
    add: Callable[[Any, Any], None]
    give: Callable[[Sequence[str]], Callable[[Any, Any], None]]
    reads: tuple[Column, ...]
    output: tuple[Column, ...]


def body_of_class(form: ClassForm) -> Body:
    """Return the functions of a class."""
    me = form.result.parameters[0]
    return Body(
        state=form.state,
        add=form.add,
        give=lambda prefix: form.emitting(
            [text.replace("s.", f"{me}.") for text in prefix], key=f"{me}.key"
        ),
        reads=form.reads,
        output=form.output,
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
    """Return the structured dtype of columns, each once."""
    return np.dtype(list({column.name: column.dtype for column in columns}.items()))


def key_function(key: Column | None) -> Callable[[Any], int]:
    """Return f_SK: the column of the key; 0 for all rows without one."""
    return define("key", "t", ["return 0" if key is None else f"return t.{key.name}"], {})


def clock_note(workload: Workload) -> str | None:
    """Return a note on windows that do not begin by the clock of the input's zone, such as days; None: all do."""
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
    key: Column | None,
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Operator:
    """Return a tumbling or sliding window."""
    return aggregate(
        name=name,
        source=source,
        window=window,
        key=key_function(key),
        where=where,
        reduce=body.add,
        result=body.give([] if key is None else ["s.key"]),
        state=np.dtype(list(body.state)),
        output=fields_of(output),
    )


def session(
    *,
    name: str,
    source: InputType,
    body: Body,
    pause: int,
    key: Column | None,
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
) -> Operator:
    """Return sessions that end when no row comes for longer than `pause`."""
    state = np.dtype([*body.state, (_FIRST, np.int64), (_LAST, np.int64), (_OPEN, np.int8)])
    prefix = [*([] if key is None else ["s.key"]), f"s.{_FIRST}", f"s.{_LAST}"]
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
        # A flushed end reaches the size beyond the last row, and so the multiple of the pause at which it is over.
        window=Window(advance=pause, size=2 * pause, type=SINGLE),
        output=fields_of(output),
        state=state,
        keys=_keys(key, where),
        update=define("update", "w, t, out", update, names),
        expire=define("expire", "w, out", expire, names),
        slide=define("slide", "w", slide, names),
        emits_on_update=True,
    )


def _keys(key: Column | None, where: Callable[[Any], bool] | None) -> Callable[[Any, Any], None]:
    add = f"out.add({0 if key is None else f't.{key.name}'})"
    lines = [add] if where is None else ["if where(t):", f"    {add}"]
    return define("keys", "t, out", lines, {} if where is None else {"where": where})


def top(
    *,
    name: str,
    source: InputType,
    most: int,
    window: Window,
    key: Column | None,
    columns: Sequence[Column],
    where: Callable[[Any], bool] | None,
    output: Sequence[Column],
    may_be_nan: bool,
) -> Operator:
    """Return the first `most` rows of each window by the first of `columns`, then by the others and time.

    `may_be_nan`: whether floats can be NaN.
    """
    fields = [*(column.name for column in columns), "ts"]
    slots = [f"{field}_{place}_" for place, field in enumerate(fields)]
    better = f"t.{fields[-1]} < s.{slots[-1]}[p - 1]"
    for number, column in reversed([*enumerate(columns)]):
        new, old = f"t.{column.name}", f"s.{slots[number]}[p - 1]"
        before = f"{new} {'<' if number else '>'} {old}"
        equal = f"{new} == {old}"
        if may_be_nan and column.dtype.kind == "f":  # NaN is last
            before = f"{before} or {old} != {old} and {new} == {new}"
            equal = f"({equal} or {old} != {old} and {new} != {new})"
        better = f"{before} or {equal} and ({better})"
    add = [
        "p = s.kept_",
        f"while p > 0 and ({better}):",
        "    p -= 1",
        f"if p < {most}:",
        f"    if s.kept_ < {most}:",
        "        s.kept_ += 1",
        "    e = s.kept_ - 1",
        "    while e > p:",
        *(f"        s.{slot}[e] = s.{slot}[e - 1]" for slot in slots),
        "        e -= 1",
        *(f"    s.{slot}[p] = t.{field}" for field, slot in zip(fields, slots, strict=True)),
    ]
    values = ", ".join(f"s.{slot}[r]" for slot in slots)
    keyed = "" if key is None else "s.key, "
    result = ["for r in range(s.kept_):", f"    out.emit({keyed}r + 1, {values})"]
    dtypes = [*(column.dtype for column in columns), np.dtype(np.int64)]
    state = [(slot, dtype, (most,)) for slot, dtype in zip(slots, dtypes, strict=True)]
    return aggregate(
        name=name,
        source=source,
        window=window,
        key=key_function(key),
        where=where,
        reduce=define("add", "s, t", add, {}),
        result=define("result", "s, out", result, {}),
        state=np.dtype([("kept_", np.int64), *state]),
        output=fields_of(output),
        max_outputs=most,
    )
