"""The reference run of graphs: table 3, markers, SORT, merges, and pairs that do not fit their type."""

import math
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import Alphabet, Input, ModelError
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    O,
    OpKeyedUnordered,
    OpStateless,
    U,
    Vertex,
)
from streamlab.workloads.model.dataflow.reference import MAX_MARKERS, GraphRun, first_marker
from streamlab.workloads.model.dataflow.vertex_reference import Marker, start
from streamlab.workloads.model.streams.records import record_type
from tests.workloads.model.dataflow.parts import (
    AVG,
    EVENT,
    JFM,
    LI,
    LOADS,
    PASS,
    READING,
    READINGS,
    alone,
    answer,
    averages,
    of_loads,
    readings,
    split_by_plug,
    stream,
)

PER_MARKER = np.dtype([("ts", np.int64), ("n", np.int64)])


def nothing(*_: Any) -> None:
    """Give nothing."""


def tick(m: Any, out: Any) -> None:
    out.emit(m.ts, 0)


TICKS = OpStateless(
    name="ticks",
    reads=READINGS,
    gives=U(None, PER_MARKER),
    on_item=lambda k, v, out: None,
    on_marker=tick,
)


def markers(data: Input, period: int = 10) -> list[int]:
    """Return the times of the markers that a graph sees."""
    return [ts for ts, _ in answer(alone(TICKS, markers=period), data)]


def test_the_pipeline_of_the_paper():
    data = readings(
        (1, 7, 10), (4, 7, 16), (5, 8, 0), (9, 8, 5), (12, 7, 0), (14, 7, 26), (30, 8, 9)
    )
    # Block 1: plug 7 has 10 12 14 16 (filled), plug 8 has 5; block 2 fills 5..14 of plug 7.
    first, second = [10, 12, 14, 16], [17, 18, 19, 20, 21, 22, 23, 24, 25, 26]
    mean = sum(first + second) // 14
    assert answer(averages(), data) == [
        (10, 7, 13),
        (10, 8, 5),
        (20, 7, mean),
        (20, 8, 5),
        (30, 7, mean),
        (30, 8, 5),
    ]


@pytest.mark.parametrize(
    ("times", "until_ts", "expected"),
    [
        # After the first event, and before the event that reaches them.
        ([3, 9, 10, 19], None, [10]),
        ([10, 19], None, []),
        ([10, 20], None, [20]),
        ([3, 47], None, [10, 20, 30, 40]),
        ([-25, -20, 1], None, [-20, -10, 0]),
        # An input that is cut has the markers before its end.
        ([3], 10, []),
        ([3], 11, [10]),
        ([3], 31, [10, 20, 30]),
        ([], None, []),
        ([], 100, []),
    ],
)
def test_markers_lie_after_the_first_event_and_before_the_end(times, until_ts, expected):
    assert markers(readings(*((ts, 0, 0) for ts in times), until_ts=until_ts)) == expected


def test_the_first_marker_is_after_the_first_event():
    assert first_marker(-1, 10) == 0
    assert first_marker(0, 10) == 10


def test_the_last_block_has_no_marker_behind_it():
    assert answer(of_loads(AVG), readings((1, 7, 4), (11, 7, 8))) == [(10, 7, 4)]


def test_too_many_markers_are_a_period_in_the_wrong_unit():
    with pytest.raises(ModelError, match=r"markers up to time .* give markers a longer period"):
        markers(readings((0, 0, 0), (10 * MAX_MARKERS + 20, 0, 0)))


def test_a_marker_arrives_after_the_pairs_that_the_previous_operator_emits_at_it():
    # AVG gives at the marker 10; what is behind it counts that pair into the block before 10.
    second = replace(AVG, name="again")
    assert answer(of_loads(AVG, second), readings((1, 7, 4), (10, 7, 4))) == [(10, 7, 4)]


def count_blocks(s: Any, agg: Any) -> None:
    s.count += 1
    s.total += agg.total


def give_count(s: Any, key: Any, m: Any, out: Any) -> None:
    out.emit(key, m.ts, s.count)


def give_state(s: Any, key: Any, value: Any, out: Any) -> None:
    out.emit(key, value.ts, s.count)


def started_at_100(s: Any) -> None:
    s.count = 100


BLOCKS = replace(AVG, name="blocks", update_state=count_blocks, on_marker=give_count)
SEEN = replace(BLOCKS, name="seen", on_marker=None, on_item=give_state)


def test_a_key_that_comes_late_begins_with_the_empty_blocks_that_it_has_had():
    # Table 3: startS = updateState(startS, id()) at each marker. Plug 8 is first seen in the third
    # block; its state has been through two empty ones before, and is not the initial one.
    data = readings((1, 7, 1), (25, 8, 1), (31, 7, 1))
    assert answer(of_loads(BLOCKS), data) == [(10, 7, 1), (20, 7, 2), (30, 7, 3), (30, 8, 3)]


def test_a_late_key_reads_the_start_state_at_its_first_item():
    data = readings((1, 7, 1), (25, 8, 1), (26, 8, 1))
    begin = replace(SEEN, initial_state=started_at_100)
    assert answer(of_loads(begin), data) == [(1, 7, 100), (25, 8, 102), (26, 8, 102)]


def test_the_start_state_takes_the_identity_and_not_zero():
    def huge(a: Any) -> None:
        a.total = 1000

    def smaller(x: Any, y: Any, into: Any) -> None:
        into.total = min(x.total, y.total)

    def lowest(s: Any, agg: Any) -> None:
        s.total = agg.total

    def give(s: Any, key: Any, value: Any, out: Any) -> None:
        out.emit(key, value.ts, s.total)

    least = replace(SEEN, identity=huge, combine=smaller, update_state=lowest, on_item=give)
    assert answer(of_loads(least), readings((1, 7, 5), (15, 8, 6), (16, 7, 9))) == [
        (1, 7, 0),
        (15, 8, 1000),
        (16, 7, 5),
    ]


def test_two_late_keys_do_not_share_a_state():
    data = readings((1, 7, 1), (15, 8, 4), (16, 9, 5), (21, 7, 1))
    assert answer(of_loads(AVG), data) == [(10, 7, 1), (20, 7, 1), (20, 8, 4), (20, 9, 5)]


def test_on_item_sees_the_state_of_the_last_marker_only():
    data = readings((1, 7, 1), (2, 7, 1), (11, 7, 1), (12, 7, 1))
    assert answer(of_loads(SEEN), data) == [(1, 7, 0), (2, 7, 0), (11, 7, 1), (12, 7, 1)]


def test_a_key_without_items_in_a_block_still_has_its_marker():
    assert answer(of_loads(AVG), readings((1, 7, 4), (31, 7, 4))) == [
        (10, 7, 4),
        (20, 7, 4),
        (30, 7, 4),
    ]


def test_sort_orders_the_pairs_of_a_key_by_time_and_ties_by_their_fields():
    flow = Flow("sorted", markers=10)
    kinds = [flow.source(kind, READING) for kind in ("first", "second")]
    loads = [flow.add(replace(JFM, name=f"jfm{i}"), kind) for i, kind in enumerate(kinds)]
    given = flow.gives(flow.add(PASS, flow.sort(*loads)))
    data = Input(
        alphabet=Alphabet(kinds=("first", "second")),
        streams=(stream(0, (1, 7, 9), (5, 7, 1), (11, 7, 1)), stream(1, (1, 7, 3), (1, 8, 4))),
    )
    assert answer(given, data) == [(1, 7, 3), (1, 7, 9), (5, 7, 1), (1, 8, 4)]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ((), [(1, 7, 2), (1, 7, 3), (4, 7, 3), (5, 7, 1)]),
        ("-ts", [(5, 7, 1), (4, 7, 3), (1, 7, 2), (1, 7, 3)]),
        ("load", [(5, 7, 1), (1, 7, 2), (1, 7, 3), (4, 7, 3)]),
        (("-load", "-ts"), [(4, 7, 3), (1, 7, 3), (1, 7, 2), (5, 7, 1)]),
    ],
)
def test_sort_orders_by_the_fields_that_the_user_names(by: Any, expected: Any):
    flow = Flow("sorted", markers=10)
    loads = flow.add(JFM, flow.source("reading", READING))
    given = flow.gives(flow.add(PASS, flow.sort(loads, by=by)))
    assert (
        answer(given, readings((1, 7, 3), (1, 7, 2), (4, 7, 3), (5, 7, 1), (11, 7, 1))) == expected
    )


def test_inputs_with_disjoint_keys_merge_in_order():
    assert answer(split_by_plug(), readings((1, 7, 4), (2, 8, 1), (3, 7, 5), (11, 9, 1))) == [
        (1, 7, 4),
        (3, 7, 5),
        (2, 8, 1),
    ]


def test_a_key_of_two_inputs_that_are_declared_disjoint_is_refused():
    data = readings((1, 7, 4), (2, 9, 1), (11, 9, 1))
    with pytest.raises(ModelError) as caught:
        answer(split_by_plug(common=9), data)
    assert (
        "dataflow split: both reads plug 9 from pass0 and pass1, but is added with "
        "disjoint_keys=True; put SORT before it instead"
    ) in str(caught.value)


def test_sorted_pairs_wait_for_their_marker_and_the_last_block_never_leaves():
    assert answer(of_loads(PASS), readings((3, 7, 1), (4, 7, 2))) == []
    assert answer(of_loads(PASS), readings((3, 7, 1), until_ts=11)) == [(3, 7, 1)]


def test_an_ordered_operator_has_a_marker_for_each_key_that_it_has_seen():
    def counted(s: Any, key: Any, value: Any, out: Any) -> None:
        s.n += 1

    def told(s: Any, key: Any, m: Any, out: Any) -> None:
        out.emit(key, m.ts, s.n)
        s.n = 0

    counts = replace(PASS, on_item=counted, on_marker=told)
    assert answer(of_loads(counts), readings((1, 8, 1), (2, 7, 1), (3, 8, 1), (21, 9, 1))) == [
        (10, 7, 1),
        (10, 8, 2),
        (20, 7, 0),
        (20, 8, 0),
    ]


def test_the_state_of_an_ordered_operator_begins_as_initial_state_says():
    def begin(s: Any) -> None:
        s.n = 5

    def give(s: Any, key: Any, value: Any, out: Any) -> None:
        s.n += 1
        out.emit(key, value.ts, s.n)

    counts = replace(PASS, initial_state=begin, on_item=give)
    assert answer(of_loads(counts), readings((1, 7, 1), (2, 7, 1), (3, 8, 1), (10, 7, 1))) == [
        (1, 7, 6),
        (2, 7, 7),
        (3, 8, 6),
    ]


def test_the_output_of_a_vertex_goes_to_each_reader_and_can_merge_again():
    flow = Flow("diamond", markers=10)
    loads = flow.add(JFM, flow.source("reading", READING))
    left, right = flow.add(AVG, loads), flow.add(replace(SEEN, name="right"), loads)
    same = OpStateless(
        name="same", reads=LOADS, gives=LOADS, on_item=lambda k, v, out: out.emit(k, v.ts, v.load)
    )
    given = flow.gives(flow.add(same, left, right))
    assert answer(given, readings((1, 7, 4), (12, 7, 6))) == [(1, 7, 0), (10, 7, 4), (12, 7, 1)]


def test_sources_of_several_kinds_have_their_own_fields():
    flow = Flow("kinds", markers=10)
    small = np.dtype([("load", np.int64)])
    one = flow.add(JFM, flow.source("reading", READING))

    def zero(key: Any, value: Any, out: Any) -> None:
        out.emit(0, value.ts, value.load)

    reads = U(None, np.dtype([("ts", np.int64), ("load", np.int64)]))
    two = flow.add(
        OpStateless(name="zero", reads=reads, gives=LOADS, on_item=zero),
        flow.source("total", small),
    )
    given = flow.gives(flow.add(AVG, one, two))
    streams = (stream(0, (1, 7, 4)), stream(1, (2, 9, 6), (10, 9, 9)))
    data = Input(alphabet=Alphabet(kinds=("reading", "total")), streams=streams)
    assert answer(given, data) == [(10, 7, 4), (10, 0, 6)]


def emitting(*fields: Any, most: int = 1) -> Dataflow:
    def give(key: Any, value: Any, out: Any) -> None:
        for _ in range(2):
            out.emit(*fields)

    return alone(OpStateless(name="x", reads=READINGS, gives=LOADS, max_outputs=most, on_item=give))


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (
            emitting(1, 2, 3),
            "operator x emits more than 1 pairs in one call; raise its max_outputs",
        ),
        (emitting(1, 2), "operator x: out.emit got 2 values (1, 2); it takes 3: plug, ts, load"),
        (
            emitting(1, 2, 2**63, most=2),
            "operator x: 9223372036854775808 does not fit output field load of type",
        ),
        (emitting(1.5, 2, 3, most=2), "operator x: 1.5 does not fit output field plug"),
        (emitting(1, 2.5, 3, most=2), "operator x: 2.5 does not fit output field ts"),
        (emitting(1, None, 3, most=2), "operator x: None does not fit output field ts"),
        (emitting(1, 2, "a", most=2), "operator x: 'a' does not fit output field load"),
    ],
)
def test_emitted_pairs_fit_their_type(flow: Dataflow, message: str):
    with pytest.raises(ModelError) as caught:
        answer(flow, readings((1, 7, 1)))
    assert message in str(caught.value)


def test_a_whole_number_may_be_a_float():
    assert answer(emitting(1, 2.0, 3.0, most=2), readings((1, 7, 1))) == [(2, 1, 3)] * 2


def test_max_outputs_is_of_each_call_not_of_all_keys():
    assert len(answer(of_loads(AVG), readings(*((1, p, 4) for p in range(9)), (10, 0, 0)))) == 9


def test_an_ordered_operator_that_changes_the_key_is_refused_where_it_does():
    def change(s: Any, key: Any, value: Any, out: Any) -> None:
        out.emit(key + 1, value.ts, value.load)

    with pytest.raises(ModelError) as caught:
        answer(of_loads(replace(PASS, on_item=change)), readings((1, 7, 1), (11, 7, 1)))
    assert (
        "operator pass is at plug 7 and emits an item of 8; an OpKeyedOrdered keeps keys, only an "
        "OpStateless changes them" in str(caught.value)
    )
    assert "in change (" in str(caught.value)


def test_a_state_that_leaves_its_type_is_refused():
    def many(s: Any, agg: Any) -> None:
        s.total = 2**63

    with pytest.raises(ModelError, match="field total of state of avg is of type int64"):
        answer(of_loads(replace(AVG, update_state=many)), readings((1, 7, 1), (11, 7, 1)))


def test_floats_are_as_wide_as_their_field():
    narrow = U("plug", np.dtype([("ts", np.int64), ("load", np.float32)]))
    third = OpStateless(
        name="third", reads=READINGS, gives=narrow, on_item=lambda k, v, o: o.emit(1, v.ts, 1 / 3)
    )
    assert answer(alone(third), readings((1, 7, 1))) == [(1, 1, float(np.float32(1 / 3)))]


def test_an_unordered_operator_may_be_of_the_unit_key_and_give_another():
    busy = OpKeyedUnordered(
        name="busy",
        reads=U(None, EVENT),
        gives=U(None, PER_MARKER),
        aggregate=AVG.aggregate,
        state=AVG.state,
        take=AVG.take,
        combine=AVG.combine,
        update_state=AVG.update_state,
        on_marker=lambda s, key, m, out: out.emit(m.ts, s.count + key),
    )
    assert answer(alone(busy), readings((1, 7, 1), (2, 8, 1), (11, 7, 1))) == [(10, 2)]


def test_a_marker_before_any_item_finds_no_state():
    given: list[Any] = []
    run = GraphRun(of_loads(LI), lambda key, value: given.append(key))
    run.marker(Marker(10))
    run.marker(Marker(20))
    assert given == []


def test_sort_puts_nan_after_all_numbers_in_any_order_of_arrival():
    numbers = O(None, np.dtype([("ts", np.int64), ("x", np.float64)]))
    vertex = Vertex(name="SORT", type=numbers, inputs=(0,))
    make = record_type(("x",))._make
    values = [make((1, x)) for x in (2.0, math.nan, -math.inf, math.nan, 1.0)]
    found = set()
    for block in permutations(values):
        given: list[Any] = []
        run = start(vertex, lambda key, value: given.append(value.x))  # noqa: B023, used at once
        for value in block:
            run.item(0, value)
        run.marker(Marker(10))
        found.add(str(given))
    assert found == {"[-inf, 1.0, 2.0, nan, nan]"}
