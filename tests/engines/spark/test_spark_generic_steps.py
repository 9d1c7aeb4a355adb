"""The steps of generic queries, without Spark: whatever is cut or shuffled, the answer is right."""

import pickle
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.spark.generic.files import closed
from engines.spark.generic.segments import segments
from engines.spark.generic.shipped import Shipped
from engines.spark.generic.steps import Step, nothing_kept, parcels_of, pieces
from engines.spark.generic.tables import in_order, unpacked
from tests.engines.spark.programs import keys_apart, kinds_apart, two_counters
from tests.examples import examples
from tests.workloads.model import naive, pipelines
from tests.workloads.model.test_oplus import chain, forwarding
from workloads.datasets.arrow import arrow_array
from workloads.model import Alphabet, Dataflow, Input
from workloads.model.operator import MULTI, SINGLE
from workloads.model.records import Emitter
from workloads.model.sequential import apply
from workloads.model.strategies import inputs
from workloads.model.total_order import merge
from workloads.model.trace import compare
from workloads.registry import names, workload


def shipped_for(data, workers):
    ends = [int(s.ts[-1]) for s in data.streams if len(s)]
    cut = [] if data.until_ts is None else [data.until_ts - 1]
    return Shipped(
        alphabet=data.alphabet,
        streams=len(data.streams),
        workers=workers,
        closing=max(ends + cut) if ends else 0,
        reference="",
        params={},
    )


def table_of(stream):
    columns = {"ts": stream.ts, **({} if stream.tag is None else {"tag": stream.tag})}
    return pa.table({n: arrow_array(c) for n, c in {**columns, **stream.payload}.items()})


def micro_batches(data, cuts):
    """Yield the batches of every stream, micro-batch by micro-batch; each ends elsewhere."""
    whole = [closed(table_of(stream)) for stream in data.streams]
    for turn in range(max(map(len, cuts)) + 1):
        batches = []
        for src, table in enumerate(whole):
            at = [0, *cuts[src], len(table)]
            part = table.slice(at[turn], at[turn + 1] - at[turn])
            batches += [(src, batch) for batch in part.to_batches(max_chunksize=3)]
        yield batches


def run(program, data, workers, cuts, seed):
    """Return what the steps give, in the order in which micro-batches gave it."""
    shipped, rng = shipped_for(data, workers), random.Random(seed)
    cut = segments(program, data.alphabet, workers)
    kept, answers = {}, []
    for batches in micro_batches(data, cuts):
        parcels = [
            parcel
            for src, batch in batches
            for piece in pieces(batch)
            for parcel in parcels_of(cut, shipped.alphabet, data.streams[src].kinds, src, piece)
        ]
        for index in range(len(cut.segments)):
            rng.shuffle(parcels)
            step, made = Step(shipped=shipped, cut=cut, index=index), []
            for group in {parcel.group for parcel in parcels}:
                own = [parcel for parcel in parcels if parcel.group == group]
                before = kept.get((index, group))
                held = nothing_kept(shipped) if before is None else pickle.loads(before)
                made += step.process(group, held, own, ended=False)
                kept[index, group] = pickle.dumps(held)
            parcels = made
        tables = [unpacked(parcel.records) for parcel in parcels]
        if tables:
            answers.append(in_order(tables, cut.segments[-1].places_out))
    output = program.output
    return {
        name: np.concatenate(
            [np.zeros(0, output[name]), *(table[name].to_numpy() for table in answers)]
        ).astype(output[name])
        for name in output.names
    }


def sequential(program, data):
    """Return what a program means."""
    out = Emitter(program.output)
    events = merge(data, program).events(program)
    apply(program, events, out, count=data.events, until_ts=data.until_ts)
    return out.columns(program.output)


def drawn_cuts(draw, data):
    return [
        sorted(draw.draw(st.lists(st.integers(0, len(s) + 1), min_size=2, max_size=2)))
        for s in data.streams
    ]


IN_STEPS = [name for name in names() if not isinstance(workload(name).program, Dataflow)]


@pytest.mark.parametrize("name", IN_STEPS)
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


def test_kinds_that_never_depend_on_each_other_are_groups_of_their_own():
    data = Input(alphabet=Alphabet(kinds=("tick", "tock", "amount")), streams=())
    cut = segments(two_counters(kinds_apart), data.alphabet, 4)
    assert [part.groups for part in cut.segments] == [2]
    assert cut.segments[0].parts.tolist() == [0, 0, 1]
    assert cut.words == "2 groups"


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
