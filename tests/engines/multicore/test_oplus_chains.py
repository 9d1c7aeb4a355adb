"""Queries of several operators on the multicore engine give the interpreter's answer."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.refusal import check_query
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.small_load import small_load
from streamlab.workloads.model import (
    Alphabet,
    Input,
    InputType,
    ListColumn,
    Operator,
    Query,
    Stream,
    Window,
    join,
)
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.operators.reference import answer
from streamlab.workloads.model.streams.strategies import inputs
from tests.examples import examples

# Functions at module level, so that kernels are cached.
READING = InputType(
    name="reading",
    fields=np.dtype([("x", np.int32), ("y", np.float64)]),
    lists=(("ids", np.dtype(np.int32)),),
)
COUNTS = np.dtype([("ts", np.int64), ("id", np.int32), ("count", np.int64), ("y", np.float64)])
COUNTED = InputType(name="counted", fields=np.dtype([(n, COUNTS[n]) for n in COUNTS.names[1:]]))
TOTALS = np.dtype([("ts", np.int64), ("group", np.int16), ("total", np.int64), ("most", np.int64)])
TOTALLED = InputType(name="totalled", fields=np.dtype([(n, TOTALS[n]) for n in TOTALS.names[1:]]))
LAST = np.dtype([("ts", np.int64), ("sum", np.int64)])


def ids_of(t, out):
    for key in t.ids:
        out.add(key)
    out.add(t.x % 3)


def count_up(w, t, out):
    w[0].count += 1
    w[0].y += t.y


def emit_count(w, out):
    out.emit(w[0].key, w[0].count, w[0].y)


def count_and_emit(w, t, out):
    w[0].count += 1
    out.emit(w[0].key, w[0].count + t.x, t.y)


def halve(w):
    w[0].count //= 2
    w[0].y = 0


def counting(window, **functions):
    return Operator(
        name="counting",
        inputs=(READING,),
        window=window,
        output=COUNTS,
        state=np.dtype([("count", np.int64), ("y", np.float64)]),
        keys=ids_of,
        buckets=7,
        **{"update": count_up, **functions},
    )


def groups_of(t, out):
    out.add(t.id % 2)
    out.add(2 + t.count % 2)


def add_up(w, t, out):
    w[0].total += t.count * (1 + t.id)
    if t.y > 0:
        w[0].most = max(w[0].most, t.count)


def emit_total(w, out):
    out.emit(w[0].key, w[0].total, w[0].most)


def pass_on(w, t, out):
    out.emit(w[0].key, t.count, t.id)


def refuse(w, t, out):
    if t.count > 0:
        raise ValueError("no counts")


def forget(w):
    w[0].total = 0
    w[0].most = 0


def totalling(window, **functions):
    return Operator(
        name="totalling",
        inputs=(COUNTED,),
        window=window,
        output=TOTALS,
        state=np.dtype([("total", np.int64), ("most", np.int64)]),
        keys=groups_of,
        buckets=5,
        **{"update": add_up, **functions},
    )


def everything(t, out):
    out.add(0)


def sum_up(w, t, out):
    w[0].sum += t.total + 3 * t.group + t.most


def emit_sum(w, out):
    out.emit(w[0].sum)


def summing(window):
    return Operator(
        name="summing",
        inputs=(TOTALLED,),
        window=window,
        output=LAST,
        state=np.dtype([("sum", np.int64)]),
        keys=everything,
        update=sum_up,
        expire=emit_sum,
        buckets=3,
    )


def close(left, right):
    return abs(left.x - right.z) <= 1


def both(left, right, out):
    out.emit(left.x, right.z, 1.0)


PAIRING = join(
    name="pairing",
    left=InputType(name="left", fields=np.dtype([("x", np.int32)])),
    right=InputType(name="right", fields=np.dtype([("z", np.int64)])),
    size=4,
    output=COUNTS,
    match=close,
    emit=both,
    shares=5,
)
SLIDING = counting(Window(advance=2, size=5), expire=emit_count)
EMITTING = counting(
    Window(advance=3, size=5, type=SINGLE), update=count_and_emit, emits_on_update=True
)
HALVING = counting(Window(advance=2, size=6, type=SINGLE), expire=emit_count, slide=halve)
TUMBLING_TOTALS = totalling(Window(advance=4, size=4), expire=emit_total)
SINGLE_TOTALS = totalling(Window(advance=3, size=3, type=SINGLE), expire=emit_total, slide=forget)
PASSING = totalling(Window(advance=5, size=5), update=pass_on, emits_on_update=True)


def query(name, *operators):
    return Query(name=name, operators=operators)


QUERIES = {
    one.name: one
    for one in (
        query("aggregate twice", SLIDING, TUMBLING_TOTALS),
        query("emit then aggregate", EMITTING, TUMBLING_TOTALS),
        query("emit twice then aggregate", EMITTING, PASSING, summing(Window(advance=2, size=7))),
        query("single windows", HALVING, SINGLE_TOTALS),
        query("join then aggregate", PAIRING, TUMBLING_TOTALS),
        query("join, emit, aggregate", PAIRING, PASSING, summing(Window(advance=3, size=3))),
        query("aggregate thrice", SLIDING, SINGLE_TOTALS, summing(Window(advance=9, size=9))),
    )
}


def columns(asked, data, *, instances=1, batch=1, tuple_buffer="order", load=None, link_rows=None):
    run = OplusRun(
        asked,
        data,
        RunSettings(
            workers=instances,
            batch=batch,
            ring_blocks=16 if load is None else 1 << 14,
            pin=False,
            load=load,
        ),
        OplusOptions(tuple_buffer=tuple_buffer, link_rows=link_rows),
    )
    try:
        measured = run.run()
        assert measured.events == data.events
        got = run.answer()
        if load is not None:
            seen = measured.latency.counts.sum() + measured.warm_up_latency.counts.sum()
            assert seen == len(got["ts"])
            assert measured.progress.outputs.sum() == len(got["ts"])
        return got
    finally:
        run.close()


def rows(answered):
    return sorted(zip(*(answered[name].tolist() for name in answered), strict=True))


def load_of(data, gap_ns):
    times = tuple(stream.ts for stream in data.streams)
    return small_load(times, gap_ns * np.arange(sum(map(len, times)), dtype=np.int64))


@pytest.mark.some(1)
@pytest.mark.parametrize("name", QUERIES)
def test_random_inputs_are_answered_as_by_the_interpreter(name):
    asked = QUERIES[name]
    if asked.operators[0].join is not None:
        drawn = st.just((("left",), ("right",)))
    else:
        drawn = st.lists(st.just(("reading",)), min_size=1, max_size=3).map(tuple)

    @settings(
        max_examples=examples(20),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(data=st.data())
    def check(data):
        given_input = data.draw(inputs(asked, layouts=[data.draw(drawn)]))
        # Far enough for the windows of all operators, or not.
        ends = [int(stream.ts[-1]) for stream in given_input.streams if len(stream)]
        after = data.draw(st.sampled_from([None, 1, 3, 8, 30]))
        if ends and after is not None:
            given_input = dataclasses.replace(given_input, until_ts=max(ends) + after)
        wanted = answer(asked, given_input)
        load = load_of(given_input, 1000) if data.draw(st.booleans()) else None
        got = columns(
            asked,
            given_input,
            instances=data.draw(st.sampled_from([1, 2, 5])),
            tuple_buffer=data.draw(st.sampled_from(["order", "scalegate"])),
            batch=data.draw(st.sampled_from([1, 64])),
            load=load,
            link_rows=data.draw(st.sampled_from([None, 2, 8])),
        )
        assert {n: c.dtype for n, c in got.items()} == {n: c.dtype for n, c in wanted.items()}
        assert (np.diff(got["ts"]) >= 0).all()
        assert rows(got) == rows(wanted)

    check()


def readings(tuples, streams, seed):
    rng = np.random.default_rng(seed)
    made = []
    for index in range(streams):
        lengths = rng.integers(0, 4, tuples)
        flat = rng.integers(0, 30, lengths.sum())
        ids = np.split(flat, np.cumsum(lengths)[:-1])
        made.append(
            Stream(
                name=f"reading-{index}",
                kinds=(0,),
                ts=np.sort(rng.integers(-500, 500, tuples)),
                payload={
                    "x": rng.integers(-9, 9, tuples).astype(np.int32),
                    "y": rng.integers(-3, 4, tuples).astype(np.float64),
                    "ids": ListColumn.of([one.tolist() for one in ids], np.int32),
                },
            )
        )
    return Input(alphabet=Alphabet(kinds=("reading",)), streams=tuple(made))


@pytest.mark.some(1)
@pytest.mark.parametrize("instances", [4, 2, 1])
@pytest.mark.parametrize("name", ["aggregate thrice", "emit twice then aggregate"])
def test_one_number_of_instances_gives_one_sequence(name, instances):
    asked = QUERIES[name]
    data = readings(400, 2, 3)
    wanted = rows(answer(asked, data))
    assert len(wanted) > 100
    seen = set()
    for repeat in range(8):
        got = columns(
            asked,
            data,
            instances=instances,
            batch=(1, 64)[repeat % 2],
            tuple_buffer=("order", "scalegate")[repeat // 2 % 2],
            link_rows=(None, 4)[repeat // 4],
        )
        assert rows(got) == wanted
        seen.add(b"".join(column.tobytes() for column in got.values()))
    assert len(seen) == 1


def test_a_plan_names_all_operators():
    asked = QUERIES["aggregate twice"]
    run = OplusRun(asked, readings(9, 1, 0), RunSettings(workers=2, ring_blocks=4))
    try:
        plan = run.run().plan
    finally:
        run.close()
    assert plan == (
        "counting: 2 instances, 7 buckets of keys -> totalling: 2 instances, 5 buckets of keys"
    )


def test_an_error_names_the_operator():
    second = totalling(Window(advance=5, size=5), update=refuse)
    message = "operator totalling: keys or update raised an exception"
    with pytest.raises(EngineCrashError, match=message):
        columns(query("fails", SLIDING, second), readings(50, 1, 0), instances=2)


def test_what_finds_no_room_between_operators_is_counted():
    asked, data = QUERIES["aggregate twice"], readings(200, 1, 0)
    run = OplusRun(asked, data, RunSettings(ring_blocks=4), OplusOptions(link_rows=2))
    try:
        counters = run.run().counters
    finally:
        run.close()
    assert counters["spilled_rows"] >= counters["spilled_rows_peak"] > 2


SCRIPT = {"kind": "script", "period_ms": 10.0, "steps": [[0.05, 2]]}


def test_chains_that_share_nothing_are_refused_with_a_reason():
    settings = RunSettings(workers=2, ring_blocks=4)
    with pytest.raises(UnsupportedError, match="variant sn runs queries of one operator"):
        OplusRun(
            QUERIES["aggregate twice"],
            readings(9, 1, 0),
            settings,
            OplusOptions(shared_nothing=True),
        )


def test_a_later_operator_that_stores_tuples_is_refused():
    stores = dataclasses.replace(TUMBLING_TOTALS, stores=True)
    reason = check_query(query("stores", SLIDING, stores), readings(9, 1, 0), fused=False)
    assert reason is not None and "operator totalling stores tuples" in reason


def test_the_windows_of_all_operators_count_for_the_range_of_event_times():
    far = dataclasses.replace(TUMBLING_TOTALS, window=Window(advance=1 << 61, size=1 << 61))
    reason = check_query(query("far", SLIDING, far), readings(9, 1, 0), fused=False)
    assert reason is not None and "exceed 2^61" in reason


def test_a_controller_needs_what_measuring_gives():
    one = query("one", SLIDING)
    with pytest.raises(UnsupportedError, match="remove the option measure = false"):
        OplusRun(
            one,
            readings(9, 1, 0),
            RunSettings(measure=False),
            OplusOptions(max_instances=2, controller=SCRIPT),
        )
