"""Section 3 of the paper: its examples, and the normal form against the definition itself."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import OutputType
from streamlab.workloads.model.answers.foata import Relation, fingerprint
from streamlab.workloads.model.dataflow import O, U, Vertex
from streamlab.workloads.model.dataflow.program import Dataflow
from streamlab.workloads.model.dataflow.traces import (
    Element,
    Trace,
    Transduction,
    of_graph,
    of_vertex,
    sources,
    stepping,
    trace,
)
from streamlab.workloads.model.dataflow.vertex_reference import Marker
from streamlab.workloads.model.streams.records import record_type
from streamlab.workloads.model.streams.strategies import equivalents
from tests.examples import examples
from tests.workloads.model.dataflow.graphs import sequences
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, averages
from tests.workloads.model.naive import swaps

NUMBER = np.dtype([("ts", np.int64), ("v", np.int64)])
BAGS, SEQUENCES = U("k", NUMBER), O("k", NUMBER)
TYPES = [BAGS, SEQUENCES]
make = record_type(("v",))._make


def item(v: int, key: int = 0) -> Any:
    return key, make((0, v))


def word(text: str) -> list[Element]:
    """Return a sequence: a digit is an item, # a marker."""
    found: list[Element] = []
    for letter in text:
        marks = sum(isinstance(element, Marker) for element in found)
        found.append(Marker(marks + 1) if letter == "#" else item(int(letter)))
    return found


def dependent(of: Any, a: Element, b: Element) -> bool:
    """Return whether two elements depend on each other (D of section 4)."""
    return isinstance(a, Marker) or isinstance(b, Marker) or (of.ordered and a[0] == b[0])


def equivalent(of: Any, u: Any, v: Any) -> bool:
    return trace(of, u) == trace(of, v)


def concatenated(first: Trace, more: list[Element]) -> Trace:
    """[u] . [v] = [uv]."""
    return trace(first.type, [*first.sequence(), *more])


def denotation(f: Transduction, data: Trace) -> Trace:
    """Beta of Definition 3.6, on one sequence of the trace."""
    return trace(f.gives, f.lifted(data.sequence()))


def consistent(f: Transduction, u: list[Element], v: list[Element]) -> bool:
    """Definition 3.5: u = v implies f(u) = f(v)."""
    return not equivalent(f.reads, u, v) or equivalent(f.gives, f.lifted(u), f.lifted(v))


def test_example_3_1():
    assert equivalent(BAGS, word("558#9"), word("855#9"))
    assert not equivalent(BAGS, word("558#9"), word("58#59"))
    assert not equivalent(SEQUENCES, word("558#9"), word("855#9"))


def test_example_3_2_a_trace_is_a_sequence_of_bags():
    found = trace(BAGS, word("57#989#6"))
    assert [[v.v for _, values in block for v in values] for block in found.blocks] == [
        [5, 7],
        [8, 9, 9],
        [6],
    ]
    assert trace(BAGS, []).blocks == ((),)
    assert trace(BAGS, word("#")).blocks == ((), ())


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_the_normal_form_is_the_class_of_swaps(of: Any):
    # Every word of 4 letters over two keys, two values and the marker, against every other.
    letters = [item(1, 0), item(2, 0), item(1, 1), Marker(1)]
    words = list(product(letters, repeat=4))
    by_form: dict[Any, set[Any]] = {}
    for u in words:
        by_form.setdefault(trace(of, u), set()).add(u)
    for u in words:
        assert swaps(u, partial(dependent, of)) == by_form[trace(of, u)]


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_the_prefix_order_is_that_of_some_sequences(of: Any):
    letters = [item(1, 0), item(2, 0), item(1, 1), Marker(1)]
    words = list(product(letters, repeat=3))
    for v in words:
        below = {trace(of, w[:n]) for w in swaps(v, partial(dependent, of)) for n in range(4)}
        for n in range(4):
            for u in {w[:n] for w in words}:
                assert (trace(of, u) <= trace(of, v)) == (trace(of, u) in below)


@pytest.mark.parametrize("of", TYPES, ids=str)
@given(data=st.data())
@settings(max_examples=examples(100))
def test_the_normal_form_agrees_with_the_levels_of_foata(of: Any, data: st.DataObject):
    u = data.draw(sequences(of))
    v = data.draw(st.one_of(equivalents(of, u), st.permutations(u)))
    output = OutputType(
        kinds=("item", "marker"),
        depends=lambda a, b: 1 in (a.kind, b.kind) or (of.ordered and a.key == b.key),
        kind_field="kind",
        key_field="key",
    )

    def columns(elements: list[Element]) -> dict[str, Any]:
        rows = [
            (e.ts, 1, 0, 0) if isinstance(e, Marker) else (e[1].ts, 0, e[0], e[1].v)
            for e in elements
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return dict(zip(("ts", "kind", "key", "v"), table.T.copy(), strict=True))

    left, right = columns(u), columns(v)
    relation = Relation.from_output(output, left, right)
    same = fingerprint(left, relation) == fingerprint(right, relation)
    assert equivalent(of, u, v) == same


@pytest.mark.parametrize("of", TYPES, ids=str)
@given(data=st.data())
@settings(max_examples=examples(100))
def test_equivalence_is_a_congruence_and_prefixes_are_an_order(of: Any, data: st.DataObject):
    u, w = data.draw(sequences(of, max_items=3)), data.draw(sequences(of, max_items=3))
    v = data.draw(equivalents(of, u))
    assert trace(of, u) == trace(of, v)
    assert trace(of, [*u, *w]) == concatenated(trace(of, v), w)
    assert trace(of, u) <= concatenated(trace(of, v), w)
    assert trace(of, trace(of, u).sequence()) == trace(of, u)
    if w:
        assert not concatenated(trace(of, u), w) <= trace(of, u)


def test_one_nan_is_another():
    value = record_type(("v",))
    kinds = U("k", np.dtype([("ts", np.int64), ("v", np.float64)]))
    u = [(0, value(0, float("nan"))), (0, value(0, 1.0))]
    assert equivalent(kinds, u, [(0, value(0, 1.0)), (0, value(0, float("nan")))])
    assert not equivalent(kinds, u, u[:1])


def greatest(at_markers: bool) -> Transduction:
    """Return the maximum so far, at markers (example 3.9), or at items (example 3.4)."""

    def begin(give: Any) -> Any:
        most: list[int] = []

        def take(key: int, value: Any) -> None:
            if not most or value.v > most[-1]:
                most.append(value.v)
                if not at_markers:
                    give(item(value.v))

        def mark(m: Marker) -> None:
            if at_markers and most:
                give(item(most[-1]))

        return stepping(take, mark, give)

    return Transduction("smax", BAGS, SEQUENCES, begin)


def test_example_3_4_the_lifting_accumulates_the_output_of_each_step():
    running = greatest(at_markers=False)
    given = [[e[1].v for e in running.lifted(word("3152")[:n])] for n in range(5)]
    assert given == [[], [3], [3], [3, 5], [3, 5]]


def test_definition_3_5_tells_example_3_9_from_a_running_maximum_of_a_bag():
    assert consistent(greatest(at_markers=True), word("35#1"), word("53#1"))
    assert not consistent(greatest(at_markers=False), word("35#1"), word("53#1"))


def test_example_3_9_gives_nothing_for_the_bag_behind_the_last_marker():
    smax = denotation(greatest(at_markers=True), trace(BAGS, word("31#5#9")))
    assert [v.v for block in smax.blocks for _, values in block for v in values] == [3, 5]


CHANNELS = O("channel", NUMBER)
"""Example 3.3: items of one channel are in order, items of two channels are independent."""


def channels(count: int) -> st.SearchStrategy[list[Element]]:
    """Return a strategy for items of some channels, without markers."""
    return sequences(CHANNELS, max_blocks=1, max_items=12, max_keys=count)


def of_channel(elements: Any, key: int) -> list[Element]:
    return [element for element in elements if element[0] == key]


def only_output(gives: Any, step: Any) -> Transduction:
    """Return a transduction of items alone; `step(key, value, out)` may emit several items."""

    def begin(give: Any) -> Any:
        state: dict[Any, Any] = {}
        return lambda element: step(state, *element, give)

    return Transduction("example", CHANNELS, gives, begin)


def _merge(state: Any, key: int, value: Any, give: Any) -> None:
    state.setdefault(key, []).append(value)
    while state.get(turn := state.get("turn", 0)):
        give((0, state[turn].pop(0)))
        state["turn"] = 1 - turn


@given(u=channels(3), data=st.data())
@settings(max_examples=examples(100))
def test_example_3_3_channels_are_sequences_independent_of_each_other(u: Any, data: st.DataObject):
    v = data.draw(st.permutations(u))
    same = all(of_channel(u, key) == of_channel(v, key) for key in range(3))
    assert equivalent(CHANNELS, u, v) == same


@given(u=channels(2), data=st.data())
@settings(max_examples=examples(100))
def test_example_3_7_a_merge_in_turn_is_deterministic(u: Any, data: st.DataObject):
    merge = only_output(SEQUENCES, _merge)
    assert consistent(merge, u, data.draw(equivalents(CHANNELS, u)))
    first, second = ([value for _, value in of_channel(u, key)] for key in (0, 1))
    pairs = min(len(first), len(second))
    taken = [value for both in zip(first, second, strict=False) for value in both]
    taken += first[pairs : pairs + 1]  # The second channel's next item is missing.
    assert [value for _, value in merge.lifted(u)] == taken


def test_a_merge_by_arrival_is_not_deterministic():
    forward = only_output(SEQUENCES, lambda state, key, value, give: give((0, value)))
    assert not consistent(forward, [item(1, 0), item(2, 1)], [item(2, 1), item(1, 0)])


@given(u=sequences(SEQUENCES, max_blocks=1, max_items=12, max_keys=1))
@settings(max_examples=examples(100))
def test_example_3_8_a_partition_gives_the_subsequence_of_each_key(u: Any):
    partition = only_output(CHANNELS, lambda state, _, value, give: give((value.v % 3, value)))
    for key in range(3):
        expected = [value for _, value in u if value.v % 3 == key]
        assert [value for _, value in of_channel(partition.lifted(u), key)] == expected
    # Monotone: a prefix of the input gives a prefix of each sub-stream.
    assert trace(CHANNELS, partition.lifted(u[:4])) <= trace(CHANNELS, partition.lifted(u))


def vertices(flow: Dataflow) -> list[tuple[Vertex, Any]]:
    of = enumerate(flow.vertices)
    return [(vertex, flow.reads(i)) for i, vertex in of if not vertex.is_source]


ALL = [of_vertex(*found) for found in vertices(averages(4))] + [of_graph(averages(4))]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.name)
@given(data=st.data())
@settings(max_examples=examples(100))
def test_theorem_4_2_templates_are_consistent_and_monotone(f: Transduction, data: st.DataObject):
    u = data.draw(sequences(f.reads) if f.name != "averages" else events())
    v = data.draw(equivalents(f.reads, u))
    assert consistent(f, u, v)
    assert denotation(f, trace(f.reads, u)) == trace(f.gives, f.lifted(v))
    # Definition 3.6: monotone. Any prefix of any sequence of the trace.
    part = v[: data.draw(st.integers(0, len(v)))]
    assert trace(f.gives, f.lifted(part)) <= trace(f.gives, f.lifted(u))


def events() -> st.SearchStrategy[list[Element]]:
    """Return a strategy for what the graph reads: all items are of its only source, 0."""
    return sequences(sources(averages(4)), max_keys=1)


def test_the_operators_of_the_graph_are_of_all_templates():
    used = {type(vertex.operator) for vertex, _ in vertices(averages())}
    assert used == {type(JFM), type(LI), type(AVG), type(None)}


def test_an_item_and_a_trace_are_described_in_words():
    found = trace(BAGS, [item(5, key=3), Marker(4), item(1)])
    assert found.lines() == ["k 3: (ts=0, v=5)", "# 4", "k 0: (ts=0, v=1)"]
