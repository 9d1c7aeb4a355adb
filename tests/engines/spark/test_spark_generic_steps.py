"""The steps of generic queries, without Spark: whatever is cut or shuffled, the answer is right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.spark.generic.segments import segments
from streamlab.workloads.model import Alphabet, Input
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.operators.program import MULTI, SINGLE
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import names, workload
from tests.across import OUTPUT, PLUGS
from tests.engines.spark.cut_runs import drawn_cuts, run, sequential
from tests.engines.spark.programs import keys_apart, kinds_apart, two_counters
from tests.examples import examples
from tests.workloads.model import naive, pipelines
from tests.workloads.model.queries import chain, forwarding


@pytest.mark.parametrize("name", names())
def test_any_cut_into_micro_batches_and_groups_gives_the_sequential_answer(name):
    found = workload(name)

    @settings(deadline=None, max_examples=examples(30))
    @given(st.data())
    def holds(draw):
        data = draw.draw(inputs(found.program, max_events=12))
        cuts, seed = drawn_cuts(draw, data), draw.draw(st.integers(0, 99))
        answer = run(found.program, data, draw.draw(st.integers(1, 3)), cuts, seed)
        difference = compare(sequential(found.program, data), answer, found.output)
        assert difference.equal, difference.render()

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
        cuts, seed = drawn_cuts(draw, data), draw.draw(st.integers(0, 99))
        answer = run(program, data, draw.draw(st.integers(1, 3)), cuts, seed)
        assert compare(sequential(program, data), answer, OUTPUT).equal

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
