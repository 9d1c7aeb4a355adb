"""The steps of generic queries, without Spark: whatever is cut or shuffled, the answer is right."""

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
from streamlab.workloads.model.operators.program import MULTI, SINGLE
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.across import OUTPUT, PLUGS
from tests.engines.spark.programs import keys_apart, kinds_apart, two_counters
from tests.engines.spark.runs import drawn_cuts, run, sequential
from tests.examples import examples
from tests.workloads.model import naive, pipelines
from tests.workloads.model.dataflow.graphs import (
    FIELDS,
    UNIT,
    disjoint,
    graphs,
    keyed,
    stateless,
    unordered,
)
from tests.workloads.model.dataflow.graphs import ordered as in_order
from tests.workloads.model.dataflow.parts import averages
from tests.workloads.model.dataflow.parts import rows as tuples
from tests.workloads.model.queries import chain, forwarding
from tests.workloads.suite.small_inputs import event_time_workloads


def check(draw, program, data, output):
    """Check that a program answers as one event after the other, however its input is cut."""
    cuts, seed = drawn_cuts(draw, data), draw.draw(st.integers(0, 99))
    answer = run(program, data, draw.draw(st.integers(1, 3)), cuts, seed)
    difference = compare(sequential(program, data), answer, output)
    assert difference.equal, difference.render()


@pytest.mark.parametrize("name", event_time_workloads())
def test_any_cut_into_micro_batches_and_groups_gives_the_sequential_answer(name):
    found = workload(name)

    @settings(deadline=None, max_examples=examples(30))
    @given(st.data())
    def holds(draw):
        data = draw.draw(inputs(found.program, max_events=12))
        check(draw, found.program, data, found.output)

    holds()


def test_events_across_keys_are_where_their_keys_are():
    cut = segments(PLUGS, Alphabet(kinds=PLUGS.kinds, keys=4), 4)
    assert [part.groups for part in cut.segments] == [1]
    houses = replace(PLUGS, kinds=PLUGS.kinds[:3], across=PLUGS.across[:1])
    alphabet = Alphabet(kinds=houses.kinds, keys=6)
    assert [part.groups for part in segments(houses, alphabet, 4).segments] == [3]

    @settings(deadline=None, max_examples=examples(60))
    @given(st.data())
    def holds(draw):
        program = draw.draw(st.sampled_from([PLUGS, houses]))
        data = draw.draw(inputs(program, max_keys=6))
        check(draw, program, data, OUTPUT)

    holds()


def test_kinds_that_never_depend_on_each_other_are_groups_of_their_own():
    data = Input(alphabet=Alphabet(kinds=("tick", "tock", "amount")), streams=())
    cut = segments(two_counters(kinds_apart), data.alphabet, 4)
    assert [part.groups for part in cut.segments] == [2]
    assert cut.segments[0].parts.tolist() == [0, 0, 1]
    assert cut.description == "2 groups"


@pytest.mark.parametrize(("depends", "keyed"), [(kinds_apart, False), (keys_apart, True)])
def test_parts_that_are_independent_give_the_sequential_answer(depends, keyed):
    program = two_counters(depends, keyed)

    @settings(max_examples=examples(60))
    @given(st.data())
    def holds(draw):
        data = draw.draw(inputs(program, max_keys=4))
        answer = run(program, data, draw.draw(st.integers(1, 4)), drawn_cuts(draw, data), 2)
        in_total_order = sequential(program, data)
        same(answer, in_total_order)

    holds()


def rows(columns):
    return sorted(zip(*(column.tolist() for column in columns.values()), strict=True))


@settings(max_examples=examples(60))
@given(st.data(), naive.shapes(MULTI), naive.shapes(MULTI), st.booleans())
def test_operators_in_a_row_answer_as_one_after_the_other(draw, first, second, at_once):
    source = forwarding(replace(first, type=SINGLE)) if at_once else naive.storing(first, 2)
    query = chain(first, second, source)
    streams, _, until = draw.draw(naive.inputs(2))
    data = naive.input_of(streams, 2, until)
    answer = run(query, data, draw.draw(st.integers(1, 3)), drawn_cuts(draw, data), 3)
    assert rows(answer) == rows(sequential(query, data))
    assert np.all(np.diff(answer["ts"]) >= 0)


def same(a, b):
    assert set(a) == set(b)
    for name in a:
        assert (a[name].tolist(), a[name].dtype) == (b[name].tolist(), b[name].dtype)


@settings(max_examples=examples(60))
@given(st.data())
def test_pipelines_of_every_kind_of_operator_give_the_sequence(draw):
    stages = draw.draw(
        st.lists(
            st.sampled_from([pipelines.TWICE, pipelines.BY_KEY, pipelines.OF_ALL]),
            min_size=1,
            max_size=4,
        )
    )
    first = pipelines.pipeline(*stages)
    data = draw.draw(inputs(first, max_events=8))
    answer = run(first, data, draw.draw(st.integers(1, 3)), drawn_cuts(draw, data), 1)
    same(answer, sequential(first, data))


@settings(max_examples=examples(400))
@given(st.data())
def test_random_graphs_answer_as_one_item_after_the_other(draw):
    flow = draw.draw(graphs() | st.just(disjoint()))
    data = replace(draw.draw(inputs(flow)), until_ts=draw.draw(st.none() | st.integers(13, 30)))
    check(draw, flow, data, inferred_output(flow))


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
