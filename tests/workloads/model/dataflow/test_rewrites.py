"""The equations that deployments are made by, each side a network: Theorem 4.3 and the table.

Channels of several kinds are given several traces, and what leaves is compared channel by channel.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model.dataflow import FlowOperator, TraceType, Vertex
from streamlab.workloads.model.dataflow.network import (
    Choose,
    Node,
    Route,
    Wire,
    instance_of_key,
    run,
)
from streamlab.workloads.model.dataflow.partials import CombiningRun, PartialRun
from streamlab.workloads.model.dataflow.traces import Element, Trace, trace
from streamlab.workloads.model.dataflow.vertex_reference import Marker, start
from streamlab.workloads.model.streams.records import record_type
from tests.examples import examples
from tests.workloads.model.dataflow.graphs import (
    BAG,
    SEQUENCES,
    ordered,
    sequences,
    stateless,
    unordered,
)

Begin = Callable[[Any], Any]
LAW = settings(max_examples=examples(200))


class Net:
    """Builds a network; what a method is given to read are indices of nodes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.wires: dict[int, list[Wire]] = {}

    def node(self, name: str, *reads: int, begin: Begin | None = None) -> int:
        """Add MRG >> what `begin` starts."""
        made = len(self.nodes)
        self.nodes.append(Node(name=name, begin=begin))
        for before in reads:
            self.wires.setdefault(before, []).append(Wire(route=Route.MERGED, to=(made,)))
        return made

    def split(self, route: Route, before: int, *to: int) -> None:
        """Add RR or HASH behind a node."""
        self.wires.setdefault(before, []).append(Wire(route=route, to=to))

    def run(self, feeds: list[list[Element]], choose: Choose) -> dict[int, list[Element]]:
        nodes = [
            replace(node, wires=tuple(self.wires.get(i, ()))) for i, node in enumerate(self.nodes)
        ]
        return run(nodes, dict(enumerate(feeds)), choose)

    def traces(self, data: st.DataObject, of: TraceType, feeds: list[list[Element]]) -> list[Trace]:
        """Return what leaves each channel, in their order; the first nodes are fed."""
        found = self.run(feeds, lambda n: data.draw(st.integers(0, n - 1)) if n > 1 else 0)
        return [trace(of, found[index]) for index in sorted(found)]


def doing(operator: FlowOperator | None, of: TraceType) -> Begin:
    """Return what starts a vertex; None: SORT."""
    vertex = Vertex(name="op", type=of, inputs=(0,), operator=operator)
    return lambda give: start(vertex, give)


def several(data: st.DataObject, of: TraceType, n: int, *, disjoint: bool) -> list[list[Element]]:
    """Draw sequences for so many channels, with the same markers, and disjoint keys if so."""
    whole = data.draw(sequences(of, min_blocks=2, max_keys=4))
    found: list[list[Element]] = [[] for _ in range(n)]
    for element in whole:
        if isinstance(element, Marker):
            for one in found:
                one.append(element)
        else:
            key = element[0]
            found[instance_of_key(key, n) if disjoint else data.draw(st.integers(0, n - 1))].append(
                element
            )
    return found


STATELESS = stateless("beta", 2, rekey=True, ticks=False)
ORDERED = ordered("gamma", ticks=True)
UNORDERED = unordered("delta", rekey=True, each=True)


@LAW
@given(st.data())
def test_theorem_4_3_stateless(data: st.DataObject):
    """MRG >> beta = (beta || beta) >> MRG."""
    feeds = several(data, BAG, 2, disjoint=False)
    left, right = Net(), Net()
    ends = [left.node("0"), left.node("1")]
    left.node("out", left.node("beta", *ends, begin=doing(STATELESS, BAG)))
    ends = [right.node(name, begin=doing(STATELESS, BAG)) for name in ("beta 0", "beta 1")]
    right.node("out", *ends)
    assert left.traces(data, BAG, feeds) == right.traces(data, BAG, feeds)


@pytest.mark.parametrize(
    ("operator", "of"),
    [(ORDERED, SEQUENCES), (UNORDERED, BAG), (None, SEQUENCES)],
    ids=["gamma", "delta", "SORT"],
)
@LAW
@given(data=st.data())
def test_theorem_4_3_keyed(operator: FlowOperator | None, of: TraceType, data: st.DataObject):
    """gamma = HASH >> (gamma || gamma || gamma) >> MRG, and the same for delta and SORT."""
    reads = BAG if operator is None else operator.reads
    elements = data.draw(sequences(reads, min_blocks=2, max_keys=4))
    left, right = Net(), Net()
    left.node("out", left.node("op", begin=doing(operator, of)))
    begin = right.node("hash")
    ops = [right.node(f"op {i}", begin=doing(operator, of)) for i in range(3)]
    right.split(Route.HASH, begin, *ops)
    right.node("out", *ops)
    assert left.traces(data, of, [elements]) == right.traces(data, of, [elements])


@pytest.mark.parametrize(
    ("route", "of"),
    [(Route.ROUND_ROBIN, BAG), (Route.HASH, BAG), (Route.HASH, SEQUENCES)],
    ids=["RR of U", "HASH of U", "HASH of O"],
)
@LAW
@given(data=st.data())
def test_splitters_are_undone_by_mrg(route: Route, of: TraceType, data: st.DataObject):
    """SPLIT >> MRG = identity; of what is in order, only HASH."""
    elements = data.draw(sequences(of, min_blocks=2, max_keys=4))
    net = Net()
    begin = net.node("split")
    parts = [net.node(f"channel {i}") for i in range(3)]
    net.split(route, begin, *parts)
    net.node("out", *parts)
    assert net.traces(data, of, [elements]) == [trace(of, elements)]


def test_round_robin_is_no_splitter_of_ordered_traces():
    make = record_type(("v",))._make
    elements: list[Element] = [(0, make((0, 1))), (0, make((0, 2))), Marker(4)]
    net = Net()
    begin = net.node("split")
    parts = [net.node(f"channel {i}") for i in range(2)]
    net.split(Route.ROUND_ROBIN, begin, *parts)
    out = net.node("out", *parts)
    # The source is emptied first; then the second channel is served before the first.
    turns = iter([0, 0, 0])
    mixed = net.run([elements], lambda n: next(turns, n - 1))[out]
    assert trace(BAG, mixed) == trace(BAG, elements)
    assert trace(SEQUENCES, mixed) != trace(SEQUENCES, elements)


@pytest.mark.parametrize("of", [BAG, SEQUENCES], ids=str)
@LAW
@given(data=st.data())
def test_the_table_reorders_mrg_and_hash(of: TraceType, data: st.DataObject):
    """MRG >> HASH = (HASH || HASH) >> (MRG || MRG || MRG), with two channels in and three out."""
    feeds = several(data, of, 2, disjoint=of.ordered)
    left, right = Net(), Net()
    merged = left.node("mrg", left.node("0"), left.node("1"))
    left.split(Route.HASH, merged, *(left.node(f"out {i}") for i in range(3)))
    ends = [right.node("hash 0"), right.node("hash 1")]
    outs = [right.node(f"out {i}") for i in range(3)]
    for end in ends:
        right.split(Route.HASH, end, *outs)
    assert left.traces(data, of, feeds) == right.traces(data, of, feeds)


@pytest.mark.parametrize("of", [BAG, SEQUENCES], ids=str)
@LAW
@given(data=st.data())
def test_the_table_drops_mrg_and_hash_of_the_same_disjoint_keys(of: TraceType, data: st.DataObject):
    """MRG >> HASH = identity, where channel i has the keys that HASH gives channel i."""
    feeds = several(data, of, 3, disjoint=True)
    net = Net()
    merged = net.node("mrg", *(net.node(f"in {i}") for i in range(3)))
    net.split(Route.HASH, merged, *(net.node(f"out {i}") for i in range(3)))
    assert net.traces(data, of, feeds) == [trace(of, feed) for feed in feeds]


@pytest.mark.parametrize("route", [Route.ROUND_ROBIN, Route.HASH])
@LAW
@given(data=st.data())
def test_an_unordered_operator_equals_partial_aggregates_and_a_combiner(
    route: Route, data: st.DataObject
):
    """delta = SPLIT >> (partial || partial || partial) >> HASH >> (combining x 2) >> MRG."""
    operator = unordered("delta", rekey=True)
    vertex = Vertex(name="delta", type=BAG, inputs=(0,), operator=operator)
    elements = data.draw(sequences(BAG, min_blocks=3, max_keys=4))
    left, right = Net(), Net()
    left.node("out", left.node("delta", begin=doing(operator, BAG)))
    begin = right.node("split")
    parts = [
        right.node(f"partial {i}", begin=lambda give: PartialRun(vertex, give)) for i in range(3)
    ]
    right.split(route, begin, *parts)
    sums = [
        right.node(f"combining {i}", begin=lambda give: CombiningRun(vertex, operator, give))
        for i in range(2)
    ]
    for part in parts:
        right.split(Route.HASH, part, *sums)
    right.node("out", *sums)
    assert left.traces(data, BAG, [elements]) == right.traces(data, BAG, [elements])


@LAW
@given(data=st.data())
def test_mrg_takes_blocks_together_and_keeps_markers(data: st.DataObject):
    feeds = several(data, BAG, 3, disjoint=False)
    net = Net()
    net.node("out", *(net.node(f"in {i}") for i in range(3)))
    (merged,) = net.traces(data, BAG, feeds)
    for index, block in enumerate(merged.blocks):
        parts = [trace(BAG, feed).blocks[index] for feed in feeds]
        both = sorted((key, value) for part in parts for key, values in part for value in values)
        assert [(key, value) for key, values in block for value in values] == both
    assert all(trace(BAG, feed).markers == merged.markers for feed in feeds)
