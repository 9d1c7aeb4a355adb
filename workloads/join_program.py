"""Makes the program of a declared join: an O+ for joins in time bounds, a DGS program for as-of joins.

Tables determine the names of fields, so this module generates the source of the functions that read them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from streamlab.workloads.declarative.declaration import LEFT, MATCHED, RIGHT, TIME, Column
from streamlab.workloads.declarative.expressions import HELPERS, TS
from streamlab.workloads.declarative.keys import Key
from streamlab.workloads.declarative.windows import fields_of
from streamlab.workloads.model import (
    DGSProgram,
    ForkJoin,
    InputType,
    Operator,
    Query,
    StateType,
    Tag,
    Window,
    equi_join,
)
from streamlab.workloads.model.code.generated import define_all
from streamlab.workloads.model.operators.program import SINGLE

_AT, _SEEN, _VERSION = "right_at", "right_seen", "right_version"
"""Fields of an as-of join's state: time of the latest right row, whether there is one, number of right rows so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinColumn:
    """A field of a side's events that is not a key field."""

    side: str
    column: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinValue:
    """A column of the output, after `ts` and the keys.

    Attributes:
        column: the column.
        code: a Python expression of `left.FIELD` and `right.FIELD`, which may call HELPERS. The field `ts` is the time.
        text: the same expression in the language of declarations (`Expression.text`).
    """

    column: Column
    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinShape:
    """The parameters of a join, in units of event time.

    Attributes:
        name: name of the program.
        key: the key fields, which are equal on both sides.
        columns: all other fields.
        values: the columns of the output after `ts` and the keys.
        before: a right row may be earlier than its left row by at most this time.
        after: a right row may be later than its left row by at most this time.
        step: for left joins: the advance of the window. Rows without a partner are output when it advances.
        max_outputs: maximum number of output rows that one input row causes.
    """

    name: str
    key: Key
    columns: tuple[JoinColumn, ...]
    values: tuple[JoinValue, ...]
    before: int
    after: int
    step: int = 1
    max_outputs: int = 1

    def input_type(self, side: str) -> InputType:
        """Return the type of a side's events: the keys and its other fields."""
        columns = [field.column for field in self.columns if field.side == side]
        return InputType(name=side, fields=fields_of([*self.key.columns, *columns]))

    def output(self, *, matched: bool) -> tuple[Column, ...]:
        """Return the columns of the output."""
        partner = [Column(name=MATCHED, dtype=np.dtype(np.bool_))] * matched
        return (TIME, *self.key.columns, *(value.column for value in self.values), *partner)

    def row(
        self,
        left: str,
        right: str | None,
        *last: str,
        renamed: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Return the code of the values of an output row after `ts`, as arguments of a call.

        Args:
            left: the variable of the left record.
            right: the variable of the right record; None for a left row without a partner.
            last: code of further values.
            renamed: by `RECORD.FIELD`: the code that reads the field, if it is different.
        """
        records = {LEFT: left, RIGHT: right}
        fields = (*self.key.columns, *(field.column for field in self.columns))
        missing = {column.name: repr(column.missing) for column in fields}

        def read(path: re.Match[str]) -> str:
            record = records[path[1]]
            if record is None:
                return missing.get(path[2], "0")
            return renamed.get(f"{record}.{path[2]}", f"{record}.{path[2]}")

        values = [re.sub(r"\b(left|right)\.(\w+)", read, value.code) for value in self.values]
        return ", ".join([*self.key.row_expressions(left), *values, *last])


def inner_join(shape: JoinShape) -> Query:
    """Return the program of an inner join in time bounds: an `equi_join` whose window has the larger bound."""
    functions = define_all(
        f"""
def match(l, r):
    return l.ts - {shape.before} <= r.ts and r.ts <= l.ts + {shape.after}

def emit(l, r, out):
    out.emit({shape.row("l", "r")})
""",
        HELPERS,
    )
    operator = equi_join(
        name=shape.name,
        left=shape.input_type(LEFT),
        right=shape.input_type(RIGHT),
        size=max(1, shape.before, shape.after),
        output=fields_of(shape.output(matched=False)),
        key=shape.key.function(),
        match=functions["match"],
        emit=functions["emit"],
    )
    return Query(name=shape.name, operators=(operator,))


def left_join(shape: JoinShape) -> Query:
    """Return the program of a left outer join in time bounds.

    An O+ stores the rows of both sides by key. Its single window advances by `step` to a boundary R when every event
    before R has been processed. `expire` (f_O) then looks for partners of the left rows whose bound has passed since
    the previous boundary: R - step <= ts + after < R. All right rows that could match are still stored.
    """
    before, after, step = shape.before, shape.after, shape.step
    size = -(-(before + after + step) // step) * step
    functions = define_all(
        f"""
def keys(t, out):
    out.add(key(t))

def in_bounds(l, r):
    return l.ts - {before} <= r.ts and r.ts <= l.ts + {after}

def update(w, t, out):
    if t.input == 0:
        for r in w[1].tuples:
            if in_bounds(t, r):
                out.emit({shape.row("t", "r", "True")})
    else:
        for l in w[0].tuples:
            if in_bounds(l, t):
                out.emit({shape.row("l", "t", "True")})
    w[t.input].tuples.append(t)

def expire(w, out):
    boundary = w[0].left + {size}
    for l in w[0].tuples:
        passed = l.ts + {after}
        if boundary - {step} <= passed and passed < boundary:
            partners = 0
            for r in w[1].tuples:
                if in_bounds(l, r):
                    partners += 1
            if partners == 0:
                out.emit({shape.row("l", None, "False")})

def slide(w):
    boundary = w[0].left + {size - step}
    while w[0].tuples and w[0].tuples[0].ts + {after} < boundary:
        w[0].tuples.popleft()
    while w[1].tuples and w[1].tuples[0].ts + {before + after} < boundary:
        w[1].tuples.popleft()
""",
        {**HELPERS, "key": shape.key.function()},
    )
    operator = Operator(
        name=shape.name,
        inputs=(shape.input_type(LEFT), shape.input_type(RIGHT)),
        window=Window(advance=step, size=size, type=SINGLE),
        output=fields_of(shape.output(matched=True)),
        state=np.dtype([]),
        stores=True,
        emits_on_update=True,
        max_outputs=shape.max_outputs,
        keys=functions["keys"],
        update=functions["update"],
        expire=functions["expire"],
        slide=functions["slide"],
    )
    return Query(name=shape.name, operators=(operator,))


def asof_join(shape: JoinShape, *, bounded: bool) -> DGSProgram:
    """Return the program of an as-of join. The state of a key is its latest right row, as in `page_view_join`.

    Right rows are first in the order of kinds, so that a right row of equal time is a partner. Left rows do not depend
    on each other.
    """
    carried = [field.column for field in shape.columns if field.side == RIGHT]
    names = [_AT, _SEEN, _VERSION, *(f"{column.name}_" for column in carried)]
    in_bound = f" and event.ts - state.{_AT} <= {shape.before}" if bounded else ""
    renamed = {f"state.{TS}": f"state.{_AT}"}
    renamed |= {f"state.{name}": f"event.{name}" for name in shape.key.names}
    renamed |= {f"state.{column.name}": f"state.{column.name}_" for column in carried}

    def copy(target: str, source: str) -> str:
        return "\n    ".join(f"{target}.{name} = {source}.{name}" for name in names)

    store = "\n        ".join(f"state.{c.name}_ = event.{c.name}" for c in carried)
    functions = define_all(
        f"""
def init(state):
    state.{_SEEN} = 0

def update(state, event, out):
    if event.kind == 0:
        state.{_AT} = event.ts
        state.{_SEEN} = 1
        state.{_VERSION} += 1
        {store}
    elif state.{_SEEN} == 1{in_bound}:
        out.emit(event.ts, {shape.row("event", "state", "True", renamed=renamed)})
    else:
        out.emit(event.ts, {shape.row("event", None, "False")})

def fork(state, pred1, pred2, first, second):
    {copy("first", "state")}
    {copy("second", "state")}

def join(first, second, state):
    if second.{_VERSION} > first.{_VERSION}:
        {copy("state", "second").replace(chr(10), chr(10) + "    ")}
    else:
        {copy("state", "first").replace(chr(10), chr(10) + "    ")}
""",
        HELPERS,
    )
    state = np.dtype(
        [
            (_AT, np.int64),
            (_SEEN, np.int8),
            (_VERSION, np.int64),
            *((f"{column.name}_", column.dtype) for column in carried),
        ]
    )
    return DGSProgram(
        name=shape.name,
        kinds=(RIGHT, LEFT),
        event=fields_of([*shape.key.columns, *(field.column for field in shape.columns)]),
        output=fields_of(shape.output(matched=True)),
        depends=right_depends,
        states=(StateType(name="latest", dtype=state, update=functions["update"]),),
        init=functions["init"],
        parallel=(
            ForkJoin(
                parent="latest",
                first="latest",
                second="latest",
                fork=functions["fork"],
                join=functions["join"],
            ),
        ),
        keyed=True,
    )


def right_depends(a: Tag, b: Tag) -> bool:
    """Return whether two rows depend on each other: they have the same key, and one of them is a right row."""
    return a.key == b.key and (a.kind == 0 or b.kind == 0)
