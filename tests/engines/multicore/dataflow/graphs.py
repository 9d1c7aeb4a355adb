"""Typed dataflow graphs for the tests of family `dataflow`: named ones, random ones, and runs.

Functions are at module level, so that kernels are cached. Numbers stay small: compiled ones wrap
around, Python's do not.
"""

from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.engines.protocol import Measured
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    FlowOperator,
    O,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
    TraceType,
    U,
    of_events,
)
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from tests.engines.inputs import input_of
from tests.engines.multicore.native_runs import run_native
from tests.engines.tasks import assert_equal

KINDS = ("left", "right")
EVENT = np.dtype([("x", np.int32), ("y", np.float64)])
VALUE = np.dtype([("ts", np.int64), ("n", np.int16), ("w", np.float32)])
EVENTS = of_events(EVENT)
PAIRS, SORTED = U("id", VALUE), O("id", VALUE)
PLAIN, IN_A_ROW = U(None, VALUE), O(None, VALUE)
STATE = np.dtype([("blocks", np.int32), ("sum", np.int64), ("last", np.int64, (2,))])
AGGREGATE = np.dtype([("count", np.int64), ("least", np.int16), ("odd", np.bool_)])


def by_x(key, value, out):
    out.emit(value.x % 5, value.ts, value.x % 100, value.y)


def even_x(key, value, out):
    if value.x % 2 == 0:
        out.emit(value.x % 10, value.ts, value.x % 100, value.y)


def odd_x(key, value, out):
    if value.x % 2 == 1:
        out.emit(value.x % 10, value.ts, value.x % 100, value.y)


def some_by_x(key, value, out):
    for i in range(value.x % 4):
        out.emit(i, value.ts + i, value.x % 100 - i, value.y / 2)


def also_at_markers(m, out):
    out.emit(3, m.ts, 1, 0.5)


def other_keys(key, value, out):
    if value.n > 0:
        out.emit((key + value.n) % 3, value.ts, value.n, value.w)


def without_key(key, value, out):
    out.emit(value.ts, value.n, value.w)


def with_key(key, value, out):
    out.emit(value.n % 4, value.ts, value.n, value.w)


def fresh(s):
    s.sum = 5
    s.last[1] = 7


def remember(s, key, value, out):
    s.sum = (3 * s.sum + value.n + key) % 997
    s.last[s.sum % 2] = value.n
    out.emit(key, value.ts, s.sum, s.last[0])


def at_marker(s, key, m, out):
    s.sum = (s.sum + 1) % 997
    for _ in range(2):
        out.emit(key, m.ts, s.sum, s.last[1])


def in_a_row(s, key, value, out):
    s.sum = (3 * s.sum + value.n) % 997
    if s.sum % 3 != 0:
        out.emit(value.ts, s.sum, value.w)


def largest(a):
    a.least = 999


def count(a, key, value):
    a.count = 1
    a.least = value.n
    a.odd = value.n % 2 == 1


def merge(x, y, into):
    into.count = x.count + y.count
    into.least = min(x.least, y.least)
    into.odd = x.odd != y.odd


def pass_block(s, a):
    # What a key that comes late begins with depends on how many blocks there were before.
    s.blocks += 1
    s.sum = (2 * s.sum + a.count + a.least) % 997
    if a.odd:
        s.last[s.blocks % 2] += 1


def with_state(s, key, value, out):
    out.emit(key, value.ts, s.sum + value.n, s.blocks)


def per_block(s, key, m, out):
    out.emit((key + s.sum) % 6, m.ts, s.sum, s.last[0])


def whole_block(s, key, m, out):
    if s.sum % 2 == 1:
        out.emit(m.ts, s.sum, s.blocks)


STATELESS = (
    OpStateless(name="by_x", reads=EVENTS, gives=PAIRS, on_item=by_x),
    OpStateless(
        name="some",
        reads=EVENTS,
        gives=PAIRS,
        on_item=some_by_x,
        on_marker=also_at_markers,
        max_outputs=3,
    ),
    OpStateless(name="other", reads=PAIRS, gives=PAIRS, on_item=other_keys),
    OpStateless(name="without", reads=PAIRS, gives=PLAIN, on_item=without_key),
    OpStateless(name="with", reads=PLAIN, gives=PAIRS, on_item=with_key),
)
ORDERED = (
    OpKeyedOrdered(
        name="remember",
        reads=SORTED,
        gives=SORTED,
        state=STATE,
        initial_state=fresh,
        on_item=remember,
        on_marker=at_marker,
        max_outputs=2,
    ),
    OpKeyedOrdered(name="plainly", reads=SORTED, gives=SORTED, state=STATE, on_item=remember),
    OpKeyedOrdered(name="row", reads=IN_A_ROW, gives=IN_A_ROW, state=STATE, on_item=in_a_row),
)
FOLD = {
    "aggregate": AGGREGATE,
    "state": STATE,
    "take": count,
    "identity": largest,
    "combine": merge,
    "update_state": pass_block,
}
UNORDERED = (
    OpKeyedUnordered(
        name="blocks", reads=PAIRS, gives=PAIRS, initial_state=fresh, on_marker=per_block, **FOLD
    ),
    OpKeyedUnordered(
        name="both", reads=PAIRS, gives=PAIRS, on_item=with_state, on_marker=per_block, **FOLD
    ),
    OpKeyedUnordered(
        name="one",
        reads=PLAIN,
        gives=PLAIN,
        initial_state=fresh,
        on_marker=whole_block,
        **FOLD,
    ),
)
OPERATORS: tuple[FlowOperator, ...] = (*STATELESS, *ORDERED, *UNORDERED)


def chain(*operators: FlowOperator, markers: int = 4, kinds: int = 1) -> Dataflow:
    """Return operators in a row behind sources, sorted where they read O."""
    flow = Flow("chain", markers=markers)
    last = tuple(flow.source(kind, EVENT) for kind in KINDS[:kinds])
    given: TraceType = EVENTS
    for operator in operators:
        if operator.reads.ordered and not given.ordered:
            last = (flow.sort(*last),)
        last, given = (flow.add(operator, *last),), operator.gives
    return flow.gives(*last)


def disjoint() -> Dataflow:
    """Return a graph that orders even and odd keys in different ways, and merges them in order."""
    flow = Flow("disjoint", markers=4)
    source = flow.source(KINDS[0], EVENT)
    parts = []
    for name, on_item, by in (("even", even_x, ("-w", "n")), ("odd", odd_x, "-ts")):
        split = flow.add(replace(STATELESS[0], name=name, on_item=on_item), source)
        parts.append(flow.add(replace(ORDERED[0], name=f"of {name}"), flow.sort(split, by=by)))
    return flow.gives(flow.add(ORDERED[1], *parts, disjoint_keys=True))


def several_sinks() -> Dataflow:
    """Return a graph with sinks of three types; one of them is read by the others."""
    flow = Flow("sinks", markers=4)
    pairs = flow.add(STATELESS[0], flow.source(KINDS[0], EVENT))
    in_order = flow.add(ORDERED[0], flow.sort(pairs))
    return flow.gives(pairs, in_order, flow.add(STATELESS[3], pairs))


BY = ((), "-n", ("-w",), ("n", "-ts"))
"""Orders of SORT."""

NAMED = {
    "disjoint": disjoint(),
    "several sinks": several_sinks(),
    "stateless": chain(STATELESS[1], STATELESS[2], kinds=2),
    "ordered": chain(STATELESS[0], ORDERED[0], ORDERED[1], kinds=2),
    "one sequence": chain(STATELESS[0], STATELESS[3], ORDERED[2]),
    "blocks": chain(STATELESS[0], UNORDERED[0]),
    "blocks of blocks": chain(STATELESS[1], UNORDERED[1], UNORDERED[0], kinds=2),
    "one block": chain(STATELESS[0], STATELESS[3], UNORDERED[2]),
}


@st.composite
def graphs(draw: st.DrawFn, most: int = 6) -> Dataflow:
    """Draw a graph: chains, fan-out, merges, SORT, both keyed templates, one or two sources."""
    flow = Flow("drawn", markers=draw(st.sampled_from([4, 1, 3, 1000])))
    found: list[tuple[int, TraceType]] = []
    unread: set[int] = set()

    def added(index: int, of: TraceType, *reads: int) -> int:
        found.append((index, of))
        unread.difference_update(reads)
        unread.add(index)
        return index

    for kind in KINDS[: draw(st.integers(1, 2))]:
        added(flow.source(kind, EVENT), EVENTS)
    for number in range(draw(st.integers(1, most))):
        readable = [op for op in OPERATORS if _inputs(op, found)]
        _operate(
            draw, flow, replace(draw(st.sampled_from(readable)), name=f"op{number}"), found, added
        )
    _join(flow, dict(found), unread, added)
    return flow.gives(found[-1][0])


def _inputs(operator: FlowOperator, found: list[tuple[int, TraceType]]) -> list[int]:
    """Return what an operator can read; SORT is put before it where it reads O."""
    return [index for index, of in found if of.same_pairs(operator.reads)]


def _operate(draw: st.DrawFn, flow: Flow, operator: FlowOperator, found: Any, added: Any) -> None:
    choice = st.sampled_from(_inputs(operator, found))
    reads = draw(st.lists(choice, min_size=1, max_size=3, unique=True))
    degree = draw(st.sampled_from([None, None, 1, 2, 3]))
    types = dict(found)
    if operator.reads.ordered and (len(reads) > 1 or not types[reads[0]].ordered):
        given = O(operator.reads.key, operator.reads.value)
        reads = [added(flow.sort(*reads, by=draw(st.sampled_from(BY))), given, *reads)]
    added(flow.add(operator, *reads, degree=degree), operator.gives, *reads)


def _join(flow: Flow, types: dict[int, TraceType], unread: set[int], added: Any) -> None:
    """Have one vertex read all that nobody reads, by way of `PAIRS`."""
    if len(unread) == 1 and types[next(iter(unread))] != EVENTS:
        return
    ways = {EVENTS: STATELESS[0], PLAIN: STATELESS[4], IN_A_ROW: STATELESS[4]}
    for of, way in ways.items():
        reads = [index for index in sorted(unread) if types[index] == of]
        if reads:
            name = f"join{'' if of == EVENTS else of.ordered}"
            types[added(flow.add(replace(way, name=name), *reads), PAIRS, *reads)] = PAIRS
    if len(unread) > 1:
        reads = sorted(unread)
        added(flow.add(replace(STATELESS[2], name="all"), *reads), PAIRS, *reads)


def small_inputs(flow: Dataflow, least: int = 0) -> st.SearchStrategy[Input]:
    """Return what draws inputs of at least so many streams, of one kind each: ties, bursts, gaps."""
    kinds = [(kind,) for kind in flow.kinds]
    layouts = [
        layout
        for streams in range(least, 5)
        for layout in combinations_with_replacement(kinds, streams)
    ]
    return inputs(flow, layouts=layouts, values=st.integers(-3, 12))


def many_events(
    flow: Dataflow, events: int, streams: int = 2, span: int = 500, seed: int = 1
) -> Input:
    """Return an input of so many events, of each kind in so many streams."""
    rng = np.random.default_rng(seed)
    rows = events // (streams * len(flow.kinds))
    made = []
    for kind in sorted([*range(len(flow.kinds))] * streams):
        ts = np.sort(rng.integers(-span, span, rows))
        x = rng.integers(-9, 99, rows).astype(np.int32)
        made.append((kind, ts, {"x": x, "y": rng.integers(-30, 40, rows).astype(np.float64)}))
    return input_of(flow.kinds, *made)


def run_flow(flow: Dataflow, data: Input, **how: Any) -> tuple[Measured, Columns]:
    """Run a graph; return what was measured, and the answer."""
    return run_native("dataflow", flow, data, **{"batch": 64, "ring_blocks": 1 << 12, **how})


def check_flow(flow: Dataflow, data: Input, **how: Any) -> tuple[Measured, Columns]:
    """Run a graph and compare the answer with the interpreter's, as a data trace."""
    measured, got = run_flow(flow, data, **how)
    assert_equal(answer_of(flow, data), got, inferred_output(flow))
    return measured, got
