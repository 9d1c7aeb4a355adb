"""The interpreter of operators O+ against windows by definition."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import (
    InputType,
    ModelError,
    Operator,
    ProgramError,
    Window,
)
from streamlab.workloads.model.operators.program import MULTI, SINGLE, keep
from streamlab.workloads.model.operators.reference import QueryRun
from streamlab.workloads.model.streams.records import tuple_type
from streamlab.workloads.model.streams.total_order import merge
from tests.examples import examples
from tests.workloads.model import naive
from tests.workloads.model.naive import KEYS, VALUE, Row, Tuple
from tests.workloads.model.queries import (
    answer,
    chain,
    forwarding,
    joined,
    panes,
    rows,
    splits,
)


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), naive.shapes(MULTI), st.integers(1, 3))
def test_multi_windows_give_the_tuples_of_each_window(data, window, kinds):
    streams, ordered, until = data.draw(naive.inputs(kinds))
    expected = naive.totals(ordered, window, naive.watermark(ordered, until))
    given_input = naive.input_of(streams, kinds, until)
    how = splits(data.draw)
    assert rows(naive.query(naive.counting(window, kinds)), given_input, **how) == expected
    assert rows(naive.query(naive.storing(window, kinds)), given_input, **how) == expected


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), naive.shapes(SINGLE), st.integers(1, 3))
def test_single_windows_that_store_and_purge_give_the_same_as_multi_windows(data, window, kinds):
    streams, ordered, until = data.draw(naive.inputs(kinds))
    expected = naive.totals(ordered, window, naive.watermark(ordered, until))
    given_input = naive.input_of(streams, kinds, until)
    query = naive.query(naive.storing(window, kinds))
    assert rows(query, given_input, **splits(data.draw)) == expected


@settings(deadline=None, max_examples=examples(150))
@given(st.data(), st.integers(1, 4), st.integers(1, 3))
def test_single_windows_slide_step_by_step(data, advance, number):
    window = Window(advance=advance, size=advance * number, type=SINGLE)
    streams, ordered, until = data.draw(naive.inputs(1))
    expected = naive.totals(ordered, window, naive.watermark(ordered, until))
    query = naive.query(panes(window))
    assert rows(query, naive.input_of(streams, 1, until), **splits(data.draw)) == expected


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), naive.shapes(SINGLE), st.booleans())
def test_a_join_gives_every_pair_in_the_window_once_directly_and_as_operator_10(
    data, window, direct
):
    streams, ordered, until = data.draw(naive.inputs(2))
    expected = naive.pairs(ordered, window, lambda a, b: a <= b)
    query = naive.query(joined(window))
    how = splits(data.draw)
    assert rows(query, naive.input_of(streams, 2, until), direct=direct, **how) == expected


@settings(deadline=None)
@given(st.data(), naive.shapes(SINGLE))
def test_outputs_of_update_are_timed_at_the_end_of_their_window(data, window):
    streams, ordered, until = data.draw(naive.inputs(2))
    expected = sorted(
        (min(naive.lefts(t.ts, window)) + window.size, key, t.input, t.value)
        for t in ordered
        for key in set(t.keys)
    )
    query = naive.query(forwarding(window))
    assert rows(query, naive.input_of(streams, 2, until), **splits(data.draw)) == expected


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), naive.shapes(MULTI), naive.shapes(MULTI))
def test_a_chain_answers_as_its_operators_one_after_the_other(data, first, second):
    streams, ordered, until = data.draw(naive.inputs(1))
    end = naive.watermark(ordered, until)
    between = [
        Tuple(ts, 0, (key % 2,), count) for ts, key, count, _ in naive.totals(ordered, first, end)
    ]
    expected = naive.totals(between, second, end)
    given_input = naive.input_of(streams, 1, until)
    assert rows(chain(first, second), given_input, **splits(data.draw)) == expected


@settings(deadline=None)
@given(st.data(), naive.shapes(SINGLE), naive.shapes(MULTI))
def test_a_chain_behind_an_operator_that_emits_at_once_follows_its_outputs(data, first, second):
    streams, ordered, until = data.draw(naive.inputs(2))
    between = [
        Tuple(min(naive.lefts(t.ts, first)) + first.size, 0, (key % 2,), t.input)
        for t in ordered
        for key in sorted(set(t.keys))
    ]
    between.sort(key=lambda t: t.ts)
    end = max([naive.watermark(ordered, until), *(t.ts for t in between)])
    expected = naive.totals(between, second, end)
    query = chain(first, second, forwarding(first))
    assert rows(query, naive.input_of(streams, 2, until), **splits(data.draw)) == expected


def test_windows_of_a_chain_close_as_soon_as_the_first_operator_has_passed_them():
    made: list[Row] = []
    window = Window(advance=10, size=10)
    run = QueryRun(chain(window, window), made.append)
    make = tuple_type(("value", "keys"))
    seen = []
    for ts in (1, 12, 19, 20, 47):
        run.process(make(ts, 0, 1, (0,) if ts < 20 else ()))
        seen.append(list(made))
    # The count of [0, 10) is a tuple of time 10, in [10, 20): only the watermark closes that.
    assert seen == [[], [], [], [(20, 0, 1, 1)], [(20, 0, 1, 1), (30, 0, 1, 2)]]


def test_tuples_for_the_next_operator_have_the_width_of_their_field():
    def run_with(value: float) -> list[Row]:
        def update(w: Any, t: Any, out: Any) -> None:
            out.emit(value)

        def double(w: Any, t: Any, out: Any) -> None:
            out.emit(2.0 * t.x)

        narrow = np.dtype([("ts", np.int64), ("x", np.float32)])
        wide = np.dtype([("ts", np.int64), ("x", np.float64)])
        common: dict[str, Any] = {
            "window": Window(advance=1, size=1),
            "state": np.dtype([]),
            "keys": lambda t, out: out.add(0),
            "emits_on_update": True,
        }
        source = InputType(name="input0", fields=VALUE, lists=(("keys", KEYS),))
        first = Operator(name="first", inputs=(source,), output=narrow, update=update, **common)
        fields = InputType(name="x", fields=np.dtype([("x", np.float32)]))
        second = Operator(name="second", inputs=(fields,), output=wide, update=double, **common)
        return rows(naive.query(first, second), naive.input_of([[Tuple(0, 0, (), 0)]], 1))

    assert run_with(0.1) == [(2, 2.0 * float(np.float32(0.1)))]
    with pytest.raises(ProgramError, match="operator first: 'a' does not fit its output's float32"):
        run_with("a")  # type: ignore[arg-type]


def test_a_tuple_out_of_order_is_refused():
    run = QueryRun(naive.query(naive.counting(Window(advance=1, size=2))), list[Row]().append)
    make = tuple_type(("value", "keys"))
    run.process(make(5, 0, 0, ()))
    with pytest.raises(ProgramError, match="a tuple of time 4 after 5"):
        run.process(make(4, 0, 0, ()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"update": lambda w, t, out: out.emit(1, 2, 3)}, "emits_on_update is not set"),
        ({"expire": lambda w, out: out.emit(1)}, r"got 1 fields \(1,\); the output has \('key', "),
        ({"update": lambda w, t, out: w[0].tuples.append(t)}, "has no attribute 'tuples'"),
        ({"update": lambda w, t, out: setattr(w[0], "sum", 1)}, "has no attribute 'sum'"),
    ],
)
def test_a_breach_of_an_operators_contract_is_an_error(changes, message):
    operator = replace(naive.counting(Window(advance=2, size=2)), **changes)
    data = naive.input_of([[Tuple(0, 0, (7,), 1), Tuple(5, 0, (), 1)]], 1)
    with pytest.raises((ProgramError, AttributeError), match=message):
        answer(naive.query(operator), data)


def test_window_instances_can_be_read_while_debugging():
    shown = []

    def expire(w: Any, out: Any) -> None:
        shown.append(repr(w))

    operator = replace(naive.counting(Window(advance=2, size=2)), expire=expire)
    data = naive.input_of([[Tuple(-1, 0, (7,), 4), Tuple(5, 0, (), 1)]], 1)
    answer(naive.query(operator), data)
    assert shown == ["(counting(key=7, left=-2, count=1, total=4),)"]


def test_times_that_could_overflow_are_refused_with_the_stream():
    query = naive.query(naive.counting(Window(advance=1, size=2**61)))
    for ts in (2**61, -(2**61)):
        data = naive.input_of([[], [Tuple(ts, 0, (), 0)]], 1)
        with pytest.raises(ModelError, match=r"stream s1 with times up to 2305843009213693952 fro"):
            merge(data, query)
    data = naive.input_of([[]], 1, until_ts=-(2**61))
    with pytest.raises(ModelError, match=r"the end of the input, -2305843009213693952"):
        merge(data, query)
    merge(naive.input_of([[Tuple(2**61 - 1, 0, (), 0)]], 1), query)


def test_columns_of_other_types_than_a_query_reads_are_refused():
    data = naive.input_of([[Tuple(0, 0, (1,), 1)]], 1)
    (stream,) = data.streams
    query = naive.query(naive.counting(Window(advance=1, size=1)))
    for name, message in (("value", "value holds lists"), ("keys", "keys holds single values")):
        other = "keys" if name == "value" else "value"
        swapped = replace(stream, payload={**stream.payload, name: stream.payload[other]})
        with pytest.raises(ModelError, match=f"stream s0: column {message}"):
            answer(query, replace(data, streams=(swapped,)))
    # What a stream does not carry reads as 0, or as an empty list.
    without = replace(data, streams=(replace(stream, payload={}),))
    (t,) = merge(without, query).events(query)
    assert (t.ts, t.input, t.value, t.keys) == (0, 0, 0, ())


def test_records_keep_the_time_of_their_tuple():
    def total(w: Any, t: Any, out: Any) -> None:
        w[0].count += 1
        w[0].total += t.value
        out.emit(w[0].key, w[0].count, w[0].total)

    single = naive.counting(Window(advance=2, size=4, type=SINGLE))
    with pytest.raises(ProgramError, match="keeps_time is for operators that emit in update only"):
        replace(single, keeps_time=True, emits_on_update=True)
    operator = replace(
        single, expire=None, slide=keep, update=total, emits_on_update=True, keeps_time=True
    )
    tuples = [Tuple(-1, 0, (7,), 4), Tuple(5, 0, (7, 8), 1), Tuple(5, 0, (7,), 2)]
    query = naive.query(operator)
    expected = [(-1, 7, 1, 4), (5, 7, 2, 5), (5, 7, 3, 7), (5, 8, 1, 1)]
    assert rows(query, naive.input_of([tuples], 1)) == expected
