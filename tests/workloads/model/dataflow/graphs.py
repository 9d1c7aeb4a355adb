"""Random graphs of all templates with their degrees, and random sequences of U(K, V) and O(K, V)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

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
)
from streamlab.workloads.model.dataflow.traces import Element
from streamlab.workloads.model.dataflow.vertex_reference import Marker
from streamlab.workloads.model.streams.records import record_type

FIELDS = np.dtype([("v", np.int64)])
VALUE = np.dtype([("ts", np.int64), ("v", np.int64)])
UNIT, BAG, SEQUENCES = U(None, VALUE), U("k", VALUE), O("k", VALUE)
LAST = np.dtype([("last", np.int64), ("n", np.int64)])
SUM = np.dtype([("sum", np.int64), ("most", np.int64)])
M = 1000
"""Values stay below this."""
PERIOD = 4


def keyed(name: str, shift: int) -> OpStateless:
    """Give items of no key one of three."""

    def on_item(key: Any, value: Any, out: Any) -> None:
        out.emit((value.v + shift) % 3, value.ts, value.v)

    return OpStateless(name=name, reads=UNIT, gives=BAG, on_item=on_item)


def stateless(name: str, times: int, *, rekey: bool, ticks: bool) -> OpStateless:
    """Give some items, or several for one, with other keys; give something at a marker."""

    def on_item(key: Any, value: Any, out: Any) -> None:
        for i in range((value.v + 1) % (times + 1)):
            out.emit((key + value.v) % 4 if rekey else key, value.ts, (value.v * 3 + i) % M)

    def on_marker(m: Any, out: Any) -> None:
        out.emit(1, m.ts, m.ts % M)

    return OpStateless(
        name=name,
        reads=BAG,
        gives=BAG,
        on_item=on_item,
        on_marker=on_marker if ticks else None,
        max_outputs=max(1, times),
    )


def ordered(name: str, *, ticks: bool) -> OpKeyedOrdered:
    """Give what depends on the order of a key's items."""

    def initial_state(s: Any) -> None:
        s.last = 7

    def on_item(s: Any, key: Any, value: Any, out: Any) -> None:
        s.n += 1
        s.last = (2 * s.last + value.v) % M
        out.emit(key, value.ts, s.last)

    def on_marker(s: Any, key: Any, m: Any, out: Any) -> None:
        s.last = (s.last + 1) % M
        out.emit(key, m.ts, s.n)

    return OpKeyedOrdered(
        name=name,
        reads=SEQUENCES,
        gives=SEQUENCES,
        state=LAST,
        initial_state=initial_state,
        on_item=on_item,
        on_marker=on_marker if ticks else None,
    )


def unordered(
    name: str,
    *,
    unit: bool = False,
    rekey: bool = False,
    each: bool = False,
    at_marker: bool = True,
) -> OpKeyedUnordered:
    """Give sums and maxima so far; the state of a late key differs from the initial one."""

    def take(a: Any, key: Any, value: Any) -> None:
        a.sum = value.v
        a.most = value.v

    def identity(a: Any) -> None:
        a.most = -M

    def combine(x: Any, y: Any, into: Any) -> None:
        into.sum = (x.sum + y.sum) % M
        into.most = max(x.most, y.most)

    def initial_state(s: Any) -> None:
        s.sum = 5

    def update_state(s: Any, agg: Any) -> None:
        s.sum = (3 * s.sum + agg.sum) % M
        s.most = max(s.most, agg.most)

    def on_item(s: Any, key: Any, value: Any, out: Any) -> None:
        out.emit((key + s.sum) % 3 if rekey else key, value.ts, (s.sum + value.v) % M)

    def on_marker(s: Any, key: Any, m: Any, out: Any) -> None:
        out.emit((key + s.sum) % 3 if rekey else key, m.ts, (s.sum + s.most) % M)

    return OpKeyedUnordered(
        name=name,
        reads=UNIT if unit else BAG,
        gives=BAG,
        aggregate=SUM,
        state=SUM,
        take=take,
        identity=identity,
        combine=combine,
        initial_state=initial_state,
        update_state=update_state,
        on_item=on_item if each else None,
        on_marker=on_marker if at_marker or not each else None,
    )


def disjoint(markers: int = PERIOD) -> Dataflow:
    """Return a graph that merges even and odd keys in order."""
    flow = Flow("disjoint", markers=markers)
    source = flow.source("number", FIELDS)
    parts = []
    for part in (0, 1):
        keys = keyed(f"part{part}", 0)

        def of_part(key: Any, value: Any, out: Any, part: int = part) -> None:
            if value.v % 2 == part:
                out.emit(value.v % 4, value.ts, value.v)

        split = flow.add(replace(keys, on_item=of_part), source)
        parts.append(flow.add(ordered(f"ordered{part}", ticks=part == 0), flow.sort(split)))
    return flow.gives(flow.add(ordered("merged", ticks=True), *parts, disjoint_keys=True))


@st.composite
def graphs(draw: st.DrawFn, *, markers: int = 4, max_vertices: int = 5) -> Dataflow:
    """Draw a graph: one or two sources, merges, vertices with several readers, all templates, several sinks."""
    flow = Flow("random", markers=markers)
    flags = st.booleans()
    is_ordered: dict[int, bool] = {}
    unread: list[int] = []

    def grow(operator: FlowOperator, *inputs: int) -> None:
        degree = draw(st.none() | st.integers(1, 3))
        made = flow.add(operator, *inputs, degree=degree)
        is_ordered[made] = operator.gives.ordered
        for before in inputs:
            if before in unread:
                unread.remove(before)
        unread.append(made)

    for kind in range(draw(st.integers(1, 2))):
        source = flow.source(f"kind{kind}", FIELDS)
        if draw(flags):
            grow(keyed(f"keyed{kind}", kind), source)
        else:
            grow(unordered(f"all{kind}", unit=True, rekey=True, each=draw(flags)), source)
    makers: list[Callable[[str], FlowOperator]] = [
        lambda name: stateless(name, draw(st.integers(0, 2)), rekey=draw(flags), ticks=draw(flags)),
        lambda name: ordered(name, ticks=draw(flags)),
        lambda name: unordered(name, rekey=draw(flags), each=draw(flags), at_marker=draw(flags)),
    ]
    for index in range(draw(st.integers(0, max_vertices))):
        operator = draw(st.sampled_from(makers))(f"op{index}")
        inputs = draw(st.lists(st.sampled_from(sorted(is_ordered)), min_size=1, max_size=2))
        _grow_sorted(draw, flow, grow, operator, sorted(set(inputs)), is_ordered, unread)
    if len(unread) > 1 and draw(flags):
        _grow_sorted(
            draw, flow, grow, draw(st.sampled_from(makers))("last"), [*unread], is_ordered, unread
        )
    return flow.gives(*unread)


def _grow_sorted(
    draw: st.DrawFn,
    flow: Flow,
    grow: Callable[..., None],
    operator: FlowOperator,
    inputs: list[int],
    is_ordered: dict[int, bool],
    unread: list[int],
) -> None:
    """Add an operator, with SORT before it if its input is in no order."""
    in_order = len(inputs) == 1 and is_ordered[inputs[0]] and draw(st.booleans())
    if operator.reads.ordered and not in_order:
        made = flow.sort(*inputs, by=draw(st.sampled_from([(), "-ts", ("-v", "ts")])))
        is_ordered[made] = True
        unread[:] = [vertex for vertex in unread if vertex not in inputs]
        inputs = [made]
    grow(operator, *inputs)


@st.composite
def sequences(
    draw: st.DrawFn,
    of: TraceType,
    *,
    min_blocks: int = 1,
    max_blocks: int = 4,
    max_items: int = 5,
    max_keys: int = 3,
) -> list[Element]:
    """Draw a sequence: ties, bursts, empty blocks, keys that are silent for blocks."""
    make = record_type(of.fields[1:])._make
    keys = st.just(0) if of.key is None else st.integers(0, max_keys - 1)
    found: list[Element] = []
    blocks = draw(st.integers(min_blocks, max_blocks))
    for block in range(blocks):
        if block:
            found.append(Marker(block * PERIOD))
        times = st.integers(block * PERIOD, (block + 1) * PERIOD - 1)
        fields = [times] + [field(of, name) for name in of.fields[1:]]
        at_least = draw(st.sampled_from([0, 1, min(3, max_items)]))
        items = st.tuples(keys, st.tuples(*fields).map(make))
        found += draw(st.lists(items, min_size=at_least, max_size=max_items))
    return found


def field(of: TraceType, name: str) -> st.SearchStrategy[Any]:
    small = st.integers(-2, 5)
    return small.map(float) if of.value[name].kind == "f" else small
