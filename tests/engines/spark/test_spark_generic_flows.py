"""Levels of typed dataflow graphs, without Spark: however they are cut, the answer is right."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.spark.generic.graph_items import OUT, Items
from streamlab.engines.spark.generic.segments import segments
from streamlab.engines.spark.generic.tables import pack, unpack
from streamlab.workloads.model import Alphabet, Input, OutputType, Stream
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.dataflow import Flow, OpStateless, U
from streamlab.workloads.model.operators.key_buckets import hash_key, hash_keys
from streamlab.workloads.model.streams.strategies import inputs
from tests.engines.spark.cut_runs import drawn_cuts, run, sequential
from tests.examples import examples
from tests.workloads.model.dataflow.graphs import FIELDS, UNIT, graphs, keyed, stateless, unordered
from tests.workloads.model.dataflow.graphs import ordered as in_order
from tests.workloads.model.dataflow.parts import averages
from tests.workloads.model.dataflow.parts import rows as tuples


@settings(max_examples=examples(400))
@given(st.data())
def test_random_graphs_answer_as_one_item_after_the_other(draw):
    flow = draw.draw(graphs())
    data = replace(draw.draw(inputs(flow)), until_ts=draw.draw(st.none() | st.integers(13, 30)))
    cuts, seed = drawn_cuts(draw, data), draw.draw(st.integers(0, 99))
    answer = run(flow, data, draw.draw(st.integers(1, 3)), cuts, seed)
    difference = compare(sequential(flow, data), answer, inferred_output(flow))
    assert difference.equal, difference.render()


def words(flow, workers=3):
    return segments(flow, Alphabet(kinds=flow.kinds), workers).description


def test_what_reads_the_keys_of_a_sort_is_with_it_and_needs_no_shuffle():
    assert words(averages()) == "3 groups"


def grown(*operators, degree=None):
    """Return a graph of operators in a row, sorted where they read O."""
    flow = Flow("row", markers=4)
    last = flow.source("kind0", FIELDS)
    for operator in operators:
        last = flow.add(
            operator, flow.sort(last) if operator.reads.ordered else last, degree=degree
        )
    return flow.gives(last)


def of_all(name):
    return replace(unordered(name, unit=True), gives=UNIT, on_marker=give_all)


def give_all(s, key, m, out):
    out.emit(m.ts, s.sum)


def plain(key, value, out):
    out.emit(value.ts, value.v)


PLAIN = OpStateless(name="plain", reads=UNIT, gives=UNIT, on_item=plain)


@pytest.mark.parametrize(
    ("operators", "degree", "cut"),
    [
        ([keyed("a", 0), unordered("b"), unordered("c")], None, "3 groups, then 3 groups"),
        ([keyed("a", 0), in_order("b", ticks=False), unordered("c")], None, "3 groups"),
        ([keyed("a", 0), in_order("b", ticks=False), unordered("c")], 2, "3 groups, then 2 groups"),
        ([of_all("a"), PLAIN, of_all("c"), keyed("d", 1)], None, "1 group"),
        ([PLAIN], None, "1 group"),
        (
            [keyed("a", 0), stateless("b", 1, rekey=True, ticks=True), unordered("c")],
            None,
            "1 group, then 3 groups",
        ),
    ],
    ids=["a shuffle each", "keys kept", "degrees", "one key", "stateless", "a stateless marker"],
)
def test_a_vertex_with_states_has_a_level_where_it_lacks_keys(operators, degree, cut):
    assert words(grown(*operators, degree=degree)) == cut


def beginning(flow, *times, until_ts):
    """Return an input of one stream with events of value 1 at these times."""
    ts = np.array(times, dtype=np.int64)
    stream = Stream(name="s", kinds=(0,), ts=ts, payload={"v": np.ones(len(ts), np.int64)})
    return Input(alphabet=Alphabet(kinds=flow.kinds), streams=(stream,), until_ts=until_ts)


def test_a_stateless_operator_is_given_a_marker_once_however_many_groups_there_are():
    flow = grown(keyed("a", 0), unordered("b"), stateless("c", 0, rekey=False, ticks=True))
    assert words(flow) == "3 groups"
    found = run(flow, beginning(flow, 0, until_ts=13), 3, [[0, 0]], 1)
    assert tuples(found) == [(4, 1, 4), (8, 1, 8), (12, 1, 12)]


def test_a_key_that_comes_late_to_a_group_without_pairs_has_had_its_markers():
    flow = grown(keyed("a", 0), unordered("b"), unordered("c"))
    data = beginning(flow, 0, 50, until_ts=61)
    data.streams[0].payload["v"][1] = 2
    assert len({row[1] for row in tuples(sequential(flow, data))}) == 2
    difference = compare(sequential(flow, data), run(flow, data, 3, [[1, 1]], 1), UNORDERED)
    assert difference.equal, difference.render()


UNORDERED = OutputType(kinds=("out",), depends=lambda a, b: False)


def test_an_input_without_events_has_no_markers():
    flow = grown(keyed("a", 0), unordered("b"), stateless("c", 0, rekey=False, ticks=True))
    assert tuples(run(flow, beginning(flow, until_ts=13), 2, [[0, 0]], 1)) == []


TYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def extremes(dtype):
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        return [np.finfo(dtype).max.item(), -np.inf]
    return [np.iinfo(dtype).min, np.iinfo(dtype).max]


def test_pairs_travel_as_they_are_whatever_else_has_fields_of_their_names():
    types = {
        index: U("k", np.dtype([("ts", np.int64), ("v", of), ("w", TYPES[-1 - index])]))
        for index, of in enumerate(TYPES)
    }
    types[OUT] = U(None, np.dtype([("ts", np.int64)]))
    pairs = [
        (index, key, tuple(values))
        for index, of in types.items()
        for key, values in enumerate(zip(*(extremes(of.value[f]) for f in of.fields), strict=True))
    ]
    random.Random(1).shuffle(pairs)
    items = Items(types)
    table = unpack(pack(items.table(pairs, [np.arange(len(pairs))])))
    found = items.pairs(table)
    assert repr([(index, key, tuple(value)) for index, key, value in found]) == repr(pairs)
    assert all(value._fields == types[index].fields for index, _, value in found)


def test_groups_of_keys_are_the_same_one_by_one_and_all_at_once():
    keys = [0, 1, -1, 2**63 - 1, -(2**63), *range(100, 200)]
    assert hash_keys(np.array(keys)).tolist() == [hash_key(key) for key in keys]
