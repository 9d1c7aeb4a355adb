"""Makes the program of a declared join: an O+ for joins in time bounds, a DGS program for as-of joins.

The functions of a program read fields by their names, which the tables determine, so their source is made here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlab.workloads.generated_code import define_all
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
from streamlab.workloads.model.operators.program import SINGLE

LEFT, RIGHT = "left", "right"
MATCHED = "matched"
"""The output field that says whether a row of `left` and `asof` joins has a partner."""
NO_TEXT = -1
"""The number of a missing text."""
_AT, _SEEN, _VERSION = "right_at", "right_seen", "right_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinField:
    """A field of the output, after `ts` and the key.

    Attributes:
        name: of the field, in the output and in the program's events.
        side: LEFT or RIGHT.
        dtype: of its values; int64 for times.
        text: whether values number texts.
        time: whether it is the row's event time, and no column of the events.
    """

    name: str
    side: str
    dtype: np.dtype[Any]
    text: bool = False
    time: bool = False

    def read_from(self, record: str) -> str:
        """Return the expression that reads the field."""
        return f"{record}.{'ts' if self.time else self.name}"

    @property
    def missing(self) -> str:
        """The value of a row without a partner, as an expression."""
        return str(NO_TEXT) if self.text else "False" if self.dtype == np.bool_ else "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinShape:
    """What a join computes, in units of event time.

    Attributes:
        name: of the program.
        key: the field of keys.
        key_dtype: its type in the events of joins in time bounds.
        fields: of the output.
        before, after: a partner's time is at least the left row's minus `before`, and at most plus `after`.
        every: the step in which rows without a partner leave.
        most: the most rows of the output that one row of the input causes.
    """

    name: str
    key: str
    key_dtype: np.dtype[Any]
    fields: tuple[JoinField, ...]
    before: int
    after: int
    every: int = 1
    most: int = 1

    def input_type(self, side: str) -> InputType:
        """Return the events of a side: the key and the fields."""
        columns = [(f.name, f.dtype) for f in self.fields if f.side == side and not f.time]
        return InputType(name=side, fields=np.dtype([(self.key, self.key_dtype), *columns]))

    def output(self, key_dtype: np.dtype[Any], *, matched: bool) -> np.dtype[np.void]:
        """Return the type of the output."""
        fields = [("ts", np.dtype(np.int64)), (self.key, key_dtype)]
        fields += [(f.name, f.dtype) for f in self.fields]
        return np.dtype(fields + [(MATCHED, np.dtype(np.bool_))] * matched)

    def values(self, left: str, right: str | None) -> str:
        """Return the values of the fields as expressions; without `right` those of a missing partner."""
        records = {LEFT: left, RIGHT: right}
        values = []
        for each in self.fields:
            record = records[each.side]
            values.append(each.missing if record is None else each.read_from(record))
        return ", ".join(values)


def inner_join(shape: JoinShape) -> Query:
    """Return the program of an inner join in time bounds: `equi_join` over the wider bound."""
    functions = define_all(
        f"""
def key(t):
    return t.{shape.key}

def match(l, r):
    return l.ts - {shape.before} <= r.ts and r.ts <= l.ts + {shape.after}

def emit(l, r, out):
    out.emit({_row(f"l.{shape.key}", shape.values("l", "r"))})
""",
        {},
    )
    operator = equi_join(
        name=shape.name,
        left=shape.input_type(LEFT),
        right=shape.input_type(RIGHT),
        size=max(1, shape.before, shape.after),
        output=shape.output(shape.key_dtype, matched=False),
        key=functions["key"],
        match=functions["match"],
        emit=functions["emit"],
    )
    return Query(name=shape.name, operators=(operator,))


def left_join(shape: JoinShape) -> Query:
    """Return the program of a left outer join in time bounds.

    An O+ keeps the rows of both sides by key. Its single window advances by `every` to a boundary R; then
    every event before R has been processed. The f_O judges the left rows whose bound has passed since the
    boundary before: R - every <= ts + after < R. The right rows that could match are then still stored.
    """
    before, after, every = shape.before, shape.after, shape.every
    size = -(-(before + after + every) // every) * every
    functions = define_all(
        f"""
def keys(t, out):
    out.add(t.{shape.key})

def in_bounds(l, r):
    return l.ts - {before} <= r.ts and r.ts <= l.ts + {after}

def update(w, t, out):
    if t.input == 0:
        for r in w[1].tuples:
            if in_bounds(t, r):
                out.emit({_row(f"t.{shape.key}", shape.values("t", "r"), "True")})
    else:
        for l in w[0].tuples:
            if in_bounds(l, t):
                out.emit({_row(f"t.{shape.key}", shape.values("l", "t"), "True")})
    w[t.input].tuples.append(t)

def expire(w, out):
    boundary = w[0].left + {size}
    for l in w[0].tuples:
        passed = l.ts + {after}
        if boundary - {every} <= passed and passed < boundary:
            partners = 0
            for r in w[1].tuples:
                if in_bounds(l, r):
                    partners += 1
            if partners == 0:
                out.emit({_row(f"l.{shape.key}", shape.values("l", None), "False")})

def slide(w):
    boundary = w[0].left + {size - every}
    while w[0].tuples and w[0].tuples[0].ts + {after} < boundary:
        w[0].tuples.popleft()
    while w[1].tuples and w[1].tuples[0].ts + {before + after} < boundary:
        w[1].tuples.popleft()
""",
        {},
    )
    operator = Operator(
        name=shape.name,
        inputs=(shape.input_type(LEFT), shape.input_type(RIGHT)),
        window=Window(advance=every, size=size, type=SINGLE),
        output=shape.output(shape.key_dtype, matched=True),
        state=np.dtype([]),
        stores=True,
        emits_on_update=True,
        max_outputs=shape.most,
        keys=functions["keys"],
        update=functions["update"],
        expire=functions["expire"],
        slide=functions["slide"],
    )
    return Query(name=shape.name, operators=(operator,))


def asof_join(shape: JoinShape, *, bounded: bool) -> DGSProgram:
    """Return the program of an as-of join: per key the state is the latest right row, as in `page_view_join`.

    Right rows come first in the order of kinds, so that one of equal time is a partner. Left rows do not
    depend on each other.
    """
    carried = [f for f in shape.fields if f.side == RIGHT and not f.time]
    names = [_AT, _SEEN, _VERSION, *(f.name for f in carried)]
    in_bound = f" and event.ts - state.{_AT} <= {shape.before}" if bounded else ""

    def copy(target: str, source: str) -> str:
        return "\n    ".join(f"{target}.{name} = {source}.{name}" for name in names)

    store = "\n        ".join(f"state.{f.name} = event.{f.name}" for f in carried)
    with_partner = ", ".join(
        f.read_from("event") if f.side == LEFT else f"state.{_AT if f.time else f.name}"
        for f in shape.fields
    )
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
        out.emit({_row("event.ts", "event.key", with_partner, "True")})
    else:
        out.emit({_row("event.ts", "event.key", shape.values("event", None), "False")})

def fork(state, pred1, pred2, first, second):
    {copy("first", "state")}
    {copy("second", "state")}

def join(first, second, state):
    if second.{_VERSION} > first.{_VERSION}:
        {copy("state", "second").replace(chr(10), chr(10) + "    ")}
    else:
        {copy("state", "first").replace(chr(10), chr(10) + "    ")}
""",
        {},
    )
    state = np.dtype(
        [
            (_AT, np.int64),
            (_SEEN, np.int8),
            (_VERSION, np.int64),
            *((f.name, f.dtype) for f in carried),
        ]
    )
    return DGSProgram(
        name=shape.name,
        kinds=(RIGHT, LEFT),
        event=np.dtype([(f.name, f.dtype) for f in shape.fields if not f.time]),
        output=shape.output(np.dtype(np.int32), matched=True),
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
    """Right rows of a key depend on all its rows; left rows do not depend on each other."""
    return a.key == b.key and (a.kind == 0 or b.kind == 0)


def _row(*values: str) -> str:
    return ", ".join(value for value in values if value)
