"""Variant `dataflow`: functions that fail, laws that are broken, and inputs that are refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.workloads.model.dataflow import Flow, OpKeyedOrdered, OpStateless, U
from streamlab.workloads.model.reference import answer_of
from tests.engines.inputs import input_of
from tests.engines.multicore.dataflow.graphs import (
    EVENT,
    EVENTS,
    NAMED,
    ORDERED,
    PAIRS,
    SORTED,
    STATELESS,
    UNORDERED,
    chain,
    check_flow,
    many_events,
    run_flow,
)
from tests.engines.multicore.native_runs import even_load, make_run

NUMBERS = np.dtype([("ts", np.int64), ("wide", np.float64), ("narrow", np.float32)])
LAST = np.iinfo(np.int64).max
FEW = many_events(NAMED["blocks"], 200)


def raising(key, value, out):
    if value.x == 50:
        raise ValueError("fifty")
    out.emit(value.x, value.ts, value.x, value.y)


def raising_at_item(s, key, value, out):
    if value.n == 5:
        raise ValueError("five")


def raising_at_marker(s, key, m, out):
    if m.ts > 40:
        raise ValueError("late")


def raising_at_block(s, a):
    if s.blocks > 3:
        raise ValueError("three blocks")
    s.blocks += 1


def raising_at_start(s):
    raise ValueError("no start")


def out_of_bounds(s, key, value, out):
    s.last[value.n] = 1


def too_many(key, value, out):
    for _ in range(4):
        out.emit(value.x, value.ts, value.x, value.y)


def too_many_at_marker(m, out):
    out.emit(1, m.ts, 1, 1.0)
    out.emit(2, m.ts, 1, 1.0)


def other_key(s, key, value, out):
    out.emit(key + 1, value.ts, value.n, value.w)


def other_key_at_marker(s, key, m, out):
    out.emit(key, m.ts, 1, 1.0)
    if key == 3:
        out.emit(key + 1, m.ts, 1, 1.0)


def other_key_at_every_marker(s, key, m, out):
    out.emit(key + 1, m.ts, 1, 1.0)


def nothing(s, key, value, out):
    pass


def numbers(key, value, out):
    wide = value.y
    if value.x % 7 == 0:
        wide = np.nan
    out.emit(value.x % 3, value.ts // 8 * 8, wide, np.float32(np.nan if value.x % 5 == 0 else 1.0))


def in_their_order(s, key, value, out):
    # Depends on the order of items, and on how many are not numbers.
    s.sum = (3 * s.sum + (7 if value.wide != value.wide else int(value.wide))) % 997
    out.emit(key, value.ts, s.sum, value.narrow == value.narrow)


def misspelt(key, value, out):
    out.emit(value.z, value.ts, value.x, value.y)


def first(function, **given):
    return OpStateless(name="first", reads=EVENTS, gives=PAIRS, on_item=function, **given)


def kept(**given):
    return replace(ORDERED[0], name="kept", **given)


def crash(flow, data=FEW, **how):
    with pytest.raises(EngineCrashError) as found:
        run_flow(flow, data, workers=2, **how)
    return str(found.value)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("flow", "operator", "said", "function"),
    [
        (chain(first(raising)), "first", "ValueError: fifty", "raising"),
        (
            chain(STATELESS[0], kept(on_item=raising_at_item)),
            "kept",
            "ValueError: five",
            "raising_at_item",
        ),
        (
            chain(STATELESS[0], kept(on_marker=raising_at_marker)),
            "kept",
            "ValueError: late",
            "raising_at_marker",
        ),
        (
            chain(STATELESS[0], replace(UNORDERED[0], update_state=raising_at_block)),
            "blocks",
            "ValueError: three blocks",
            "raising_at_block",
        ),
    ],
)
def test_an_exception_is_reported_with_operator_function_and_line(flow, operator, said, function):
    message = crash(flow)
    assert f"operator {operator}" in message
    assert said in message
    assert f"{function} (" in message or f"in {function}" in message
    assert "test_dataflow_failures.py:" in message


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        # Before anything runs.
        (
            (STATELESS[0], kept(initial_state=raising_at_start)),
            "operator kept: its initial_state raised an exception: ValueError: no start",
        ),
        ((STATELESS[0], kept(on_item=out_of_bounds)), "operator kept: .*OutOfBoundsError"),
        (
            (first(too_many, max_outputs=3),),
            "operator first: a function emitted 1 pairs beyond max_outputs; raise it",
        ),
        (
            (replace(STATELESS[0], on_marker=too_many_at_marker),),
            "operator by_x: a function emitted 1 pairs beyond max_outputs",
        ),
    ],
    ids=["start state", "index", "outputs", "outputs at markers"],
)
def test_a_fault_is_reported_with_the_operator(operators, message):
    assert re.search(message, crash(chain(*operators)))


@pytest.mark.parametrize(
    "operator",
    [
        kept(on_item=other_key),
        kept(on_item=other_key, max_outputs=1, on_marker=None),
        kept(on_item=nothing, on_marker=other_key_at_marker),
        kept(on_item=nothing, on_marker=other_key_at_every_marker, max_outputs=1),
    ],
    ids=["items", "items of one", "markers", "markers of one"],
)
def test_an_ordered_operator_that_changes_keys_is_reported(operator):
    message = crash(chain(STATELESS[0], operator))
    assert "operator kept: a function at key " in message
    assert "an OpKeyedOrdered keeps keys, only an OpStateless changes them" in message
    if operator.on_marker is other_key_at_marker:
        assert "a function at key 3 emitted a pair of key 4" in message


def test_sort_has_a_place_for_nan():
    given = U("id", NUMBERS)
    flow = Flow("numbers", markers=32)
    found = flow.add(
        OpStateless(name="numbers", reads=EVENTS, gives=given, on_item=numbers),
        flow.source("left", EVENT),
    )
    in_order = OpKeyedOrdered(
        name="order",
        reads=replace(given, ordered=True),
        gives=SORTED,
        state=ORDERED[0].state,
        on_item=in_their_order,
    )
    flow = flow.gives(flow.add(in_order, flow.sort(found)))
    for seed in range(3):
        # Blocks of hundreds of ties: std::sort goes astray where NaN is neither above nor below.
        data = many_events(flow, 3000, span=100, seed=seed)
        for workers in (1, 3):
            check_flow(flow, data, workers=workers)


def test_a_function_that_does_not_compile_is_named():
    with pytest.raises(EngineError, match=r"(?s)operator first.*on_item function misspelt \("):
        run_flow(chain(first(misspelt)), FEW)


def of_times(ts, kind=0, kinds=("left",), until_ts=None, **columns):
    """Return an input of one stream with events of these times."""
    columns |= {"x": np.ones(len(ts), dtype=np.int32), "y": np.ones(len(ts))}
    return input_of(kinds, (kind, ts, columns), until_ts=until_ts)


def test_markers_without_end_are_refused_with_the_remedy():
    data = of_times([0, 1 << 50])
    with pytest.raises(UnsupportedError, match=r"markers, one every 4; .* use a longer period"):
        run_flow(NAMED["blocks"], data)


def test_streams_of_several_kinds_are_refused():
    tagged = of_times([1, 2], kind=(0, 1), kinds=("left", "right"), tag=[0, 1])
    with pytest.raises(UnsupportedError, match="stream stream-0 has several kinds"):
        run_flow(NAMED["ordered"], tagged)


@pytest.mark.parametrize("ts", [LAST - 1, -(1 << 62), -LAST - 1])
def test_times_at_the_edge_are_answered(ts):
    flow = replace(NAMED["ordered"], markers=1 << 40)
    data = of_times([ts], kinds=("left", "right"))
    measured, _ = check_flow(flow, data)
    assert measured.counters["markers"] == 0


def test_a_period_longer_than_all_time_has_a_marker_at_zero():
    flow = replace(NAMED["blocks"], markers=1 << 64)
    data = of_times([-5, 5])
    measured, got = check_flow(flow, data, load=even_load(data, 1000))
    assert measured.counters["markers"] == len(got["ts"]) == 1


def test_the_end_of_time_is_refused():
    data = of_times([LAST])
    with pytest.raises(EngineError, match="the largest int64"):
        run_flow(NAMED["blocks"], data)


def test_markers_are_emitted_until_the_end_of_the_input():
    flow = NAMED["blocks"]
    short = of_times([1, 2, 3])
    assert len(answer_of(flow, short)["ts"]) == 0
    until = replace(short, until_ts=13)
    for workers in (1, 2):
        measured, got = check_flow(flow, until, workers=workers)
        assert measured.counters["markers"] == 3
        assert len(got["ts"]) == 3


def test_a_link_without_room_is_refused():
    with pytest.raises(EngineError, match="link_rows must be"):
        make_run("dataflow", NAMED["blocks"], FEW, link_rows=0)
