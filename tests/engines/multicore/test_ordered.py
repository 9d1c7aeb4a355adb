"""Ordered pipelines on the multicore engine give the interpreter's sequence, record by record."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.multicore.ordered.options import OrderedOptions
from streamlab.engines.multicore.ordered.run import OrderedRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.small_load import small_load
from streamlab.workloads.model import (
    Alphabet,
    Input,
    Pipeline,
    Stream,
    partitioned,
    stateful,
    stateless,
)
from streamlab.workloads.model.pipeline.reference import answer
from streamlab.workloads.model.streams.strategies import inputs
from tests.examples import examples

# Functions at module level, so that kernels are cached.
EVENT = np.dtype([("x", np.int32), ("y", np.float64)])
SCALED = np.dtype([("ts", np.int64), ("x", np.int64), ("half", np.float32), ("odd", np.bool_)])
COUNTED = np.dtype([("ts", np.int64), ("x", np.int16), ("count", np.int64), ("last", np.int64)])
TOTAL = np.dtype([("ts", np.int64), ("total", np.int64), ("far", np.float64)])
SEEN = np.dtype([("count", np.int64), ("last", np.int64, (3,))])
SUMMED = np.dtype([("sum", np.int64), ("y", np.float64)])


def scale(t, out):
    out.emit(3 * t.x - 1, t.y / 2, t.x % 2 == 1)


def some(t, out):
    if t.x > 0:
        out.emit(3 * t.x, t.y, True)


def nothing(t, out):
    if t.x > 1_000_000:
        out.emit(t.x, t.y, False)


def many(t, out):
    for i in range(t.x % 4):
        out.emit(t.x + i, t.y, i == 1)


def repeat(t, out):
    for i in range(50):
        out.emit(i * t.x, t.half, t.odd)


def by_x(t):
    return t.x % 3


def by_itself(t):
    return t.x


def by_half(t):
    return int(t.half) * 7 - 2


def remember(s, t, out):
    s.last[s.count % 3] = t.x
    s.count += 1
    out.emit(t.x % 100, s.count, s.last[0] + 10 * s.last[1] + 100 * s.last[2])


def every_second(s, t, out):
    s.count += 1
    if s.count % 2 == 0:
        out.emit(s.count % 100, s.count, t.x)


def twice(s, t, out):
    s.count += 1
    if t.odd:
        out.emit(1, s.count, t.x)
        out.emit(2, s.count, t.x)


def total(s, t, out):
    s.sum = 3 * s.sum % 1_000_003 + t.last * t.x + t.count
    s.y += 0.5
    out.emit(s.sum, s.y)


def too_many(t, out):
    for i in range(t.x % 4):
        out.emit(t.x + i, t.y, i == 1)


def raises(s, t, out):
    if t.x == 11:
        raise ValueError("eleven")
    out.emit(t.x % 100, s.count, 0)


def bad_key(t):
    if t.x == 8:
        raise ValueError("eight")
    return t.x


def untyped(t, out):
    out.emit(t.nowhere, 1.0, True)


QUEUES = [
    *(("source", worklist) for worklist in ("homed", "hybrid", "partitioned", "shared")),
    *(("operator", worklist) for worklist in ("hybrid", "partitioned", "shared")),
]
"""Serials and worklists that go together."""


def first(apply, **given):
    return stateless(name=apply.__name__, output=SCALED, apply=apply, **given)


def keyed(apply, key=by_x, **given):
    return partitioned(
        name=apply.__name__, output=COUNTED, key=key, state=SEEN, apply=apply, **given
    )


TOTALLING = stateful(name="total", output=TOTAL, state=SUMMED, apply=total)


def pipeline(name, *stages):
    return Pipeline(name=name, record="reading", event=EVENT, stages=stages)


PIPELINES = {
    one.name: one
    for one in (
        pipeline("stateless", first(scale)),
        pipeline("a filter, keys, a total", first(some), keyed(remember), TOTALLING),
        pipeline("keys by range", first(scale), keyed(remember, bounds=(-4, 0, 1, 5)), TOTALLING),
        pipeline("keys of negative numbers", first(scale), keyed(every_second, by_half)),
        pipeline("nothing passes", first(nothing), keyed(remember), TOTALLING),
        pipeline("many of few", first(many, max_outputs=3), keyed(twice, max_outputs=2), TOTALLING),
        pipeline(
            "fifty of each",
            first(scale),
            stateless(name="repeat", output=SCALED, apply=repeat, max_outputs=50),
            keyed(remember, partitions=7),
            TOTALLING,
        ),
        pipeline("keys first", keyed(remember)),
    )
}


def columns(asked, data, *, workers=1, batch=1, load=None, measure=True, **options):
    run = OrderedRun(
        asked,
        data,
        RunSettings(
            workers=workers,
            batch=batch,
            ring_blocks=16 if load is None else 1 << 14,
            pin=False,
            load=load,
            measure=measure,
        ),
        OrderedOptions(**options),
    )
    try:
        measured = run.run()
        assert measured.events == data.events
        got = run.answer()
        if load is not None:
            seen = measured.latency.counts.sum() + measured.warm_up_latency.counts.sum()
            assert seen == len(got["ts"])
            assert measured.progress.outputs.sum() == len(got["ts"])
            assert measured.progress.consumed.sum() == data.events
        return got
    finally:
        run.close()


def assert_same(got, wanted):
    assert {n: c.dtype for n, c in got.items()} == {n: c.dtype for n, c in wanted.items()}
    for name, column in wanted.items():
        np.testing.assert_array_equal(got[name], column, err_msg=name)


def load_of(data, gap_ns):
    times = tuple(stream.ts for stream in data.streams)
    return small_load(times, gap_ns * np.arange(sum(map(len, times)), dtype=np.int64))


@pytest.mark.some(1)
@pytest.mark.parametrize("name", PIPELINES)
def test_random_inputs_are_answered_as_by_the_interpreter(name):
    asked = PIPELINES[name]
    layouts = st.lists(st.just(("reading",)), min_size=1, max_size=3).map(tuple)

    @settings(
        max_examples=examples(25),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(data=st.data())
    def check(data):
        values = st.integers(-9, 9)
        serials, worklist = data.draw(st.sampled_from(QUEUES))
        given_input = data.draw(
            inputs(asked, layouts=[data.draw(layouts)], max_events=30, values=values)
        )
        got = columns(
            asked,
            given_input,
            workers=data.draw(st.sampled_from([1, 2, 5])),
            batch=data.draw(st.sampled_from([1, 3, 64])),
            load=load_of(given_input, 1000) if data.draw(st.booleans()) else None,
            scheduler=data.draw(st.sampled_from(["ct", "ct_input", "lp", "et", "qst"])),
            serials=serials,
            worklist=worklist,
            reordering=data.draw(st.sampled_from(["nonblocking", "lock"])),
            window=data.draw(st.sampled_from([None, 1, 5])),
            partitions=data.draw(st.sampled_from([None, 1, 4])),
            ct_window_us=data.draw(st.sampled_from([1, 10_000])),
        )
        assert_same(got, answer(asked, given_input))

    check()


@pytest.mark.some(1)
@pytest.mark.parametrize("bounds", [None, (-2000, 0, 1, 5000)])
def test_tables_beyond_the_caches_keep_the_state_of_every_key(bounds):
    # 9,000 keys whose table takes 450 KB: their states are asked for before they are needed.
    partitions = {} if bounds is None else {"bounds": bounds}
    asked = pipeline("many keys", keyed(remember, by_itself, **partitions), TOTALLING)
    rng = np.random.default_rng(8)
    data = Input(
        alphabet=Alphabet(kinds=("reading",)),
        streams=(
            Stream(
                name="a",
                kinds=(0,),
                ts=np.arange(30_000),
                payload={
                    "x": rng.integers(-4000, 5000, 30_000).astype(np.int32),
                    "y": np.zeros(30_000),
                },
            ),
        ),
    )
    wanted = answer(asked, data)
    for workers, batch, count in ((1, 64, None), (1, 100, 3), (2, 64, 3)):
        assert_same(columns(asked, data, workers=workers, batch=batch, partitions=count), wanted)


def readings(records, streams, seed):
    rng = np.random.default_rng(seed)
    return Input(
        alphabet=Alphabet(kinds=("reading",)),
        streams=tuple(
            Stream(
                name=f"reading-{index}",
                kinds=(0,),
                ts=np.sort(rng.integers(-500, 500, records)),
                payload={
                    "x": rng.integers(-9, 99, records).astype(np.int32),
                    "y": rng.integers(-30, 40, records).astype(np.float64),
                },
            )
            for index in range(streams)
        ),
    )


@pytest.mark.some(2)
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("name", ["a filter, keys, a total", "fifty of each", "keys first"])
def test_repeats_give_one_sequence(name, loaded, workers):
    asked = PIPELINES[name]
    data = readings(600, 2, 3)
    wanted = answer(asked, data)
    assert len(wanted["ts"]) > 100
    for repeat_number in range(8):
        got = columns(
            asked,
            data,
            workers=workers,
            batch=(1, 64)[repeat_number % 2],
            load=load_of(data, 200) if loaded else None,
            serials=QUEUES[repeat_number % 7][0],
            worklist=QUEUES[repeat_number % 7][1],
            reordering=("nonblocking", "lock")[repeat_number // 4],
        )
        assert_same(got, wanted)


def test_fields_that_a_stream_does_not_carry_are_zero():
    asked = PIPELINES["stateless"]
    data = Input(
        alphabet=Alphabet(kinds=("reading",)),
        streams=(
            Stream(
                name="a", kinds=(0,), ts=np.arange(5), payload={"x": np.arange(5, dtype=np.int32)}
            ),
            Stream(name="b", kinds=(0,), ts=np.arange(3)),
        ),
    )
    assert_same(columns(asked, data, batch=4), answer(asked, data))


def test_without_measuring_the_answer_is_the_same():
    asked = PIPELINES["a filter, keys, a total"]
    data = readings(300, 1, 1)
    assert_same(columns(asked, data, workers=2, batch=16, measure=False), answer(asked, data))


def test_counters_tell_what_operators_cost_and_what_the_scheduler_did():
    asked = PIPELINES["a filter, keys, a total"]
    data = readings(5000, 1, 1)
    run = OrderedRun(asked, data, RunSettings(workers=2, batch=64, ring_blocks=16))
    try:
        measured = run.run()
        outputs = len(run.answer()["ts"])
    finally:
        run.close()
    counters = measured.counters
    assert counters["1_some_rows"] == 5000
    passed = int((data.streams[0].payload["x"] > 0).sum())
    assert counters["1_some_selectivity"] == pytest.approx(passed / 5000)
    assert counters["2_remember_rows"] == counters["3_total_rows"] == outputs == passed
    assert counters["3_total_selectivity"] == 1
    for number in ("1_some", "2_remember", "3_total"):
        assert counters[f"{number}_cost_ns"] > 0
    shares = sum(value for name, value in counters.items() if name.endswith("_time_share"))
    assert 0 < shares <= 1
    assert counters["scheduler_decisions"] >= 3 and counters["scheduler_ns"] > 0
    units = -(-5000 // 64)
    assert counters["reordering_adds"] == counters["reordering_sends"] == 3 * units
    assert counters["window_units"] == 128
    assert measured.latency.counts.sum() == units
    assert counters["processing_p50_ns"] <= counters["processing_p99_ns"]
    assert measured.plan == (
        "some: stateless -> remember: partitioned, 4 partitions by hash, homed -> "
        "total: stateful; 2 workers, scheduler ct, nonblocking reordering"
    )


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            (first(scale), keyed(raises)),
            r"operator raises: its function or its key .* in raises \(",
        ),
        (
            (first(scale), keyed(remember, bad_key)),
            r"operator remember: its function or its key .* in bad_key \(",
        ),
        ((first(too_many, max_outputs=2),), r"operator too_many: its function emitted \d+ records"),
        ((first(too_many),), r"operator too_many: its function emitted \d+ records beyond max_out"),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_names_the_operator_and_stops_the_run(stages, message, workers):
    data = Input(
        alphabet=Alphabet(kinds=("reading",)),
        streams=(
            Stream(
                name="a",
                kinds=(0,),
                ts=np.arange(500),
                payload={"x": (np.arange(500) % 20).astype(np.int32), "y": np.ones(500)},
            ),
        ),
    )
    with pytest.raises(EngineCrashError, match=message):
        columns(pipeline("fails", *stages), data, workers=workers, batch=8)


def test_serials_of_operators_number_what_each_operator_reads():
    asked = PIPELINES["fifty of each"]
    data = readings(1000, 1, 1)
    run = OrderedRun(
        asked,
        data,
        RunSettings(workers=2, batch=1, ring_blocks=16),
        OrderedOptions(serials="operator", partitions=4),
    )
    try:
        measured = run.run()
        assert_same(run.answer(), answer(asked, data))
    finally:
        run.close()
    counters = measured.counters
    assert measured.plan.endswith("nonblocking reordering, serials of operators")
    # 1,000 records, once each; and fifty of each at both operators behind.
    assert counters["reordering_adds"] == counters["reordering_sends"] == 2 * 1000 + 2 * 50_000
    assert counters["window_units"] == 1024


def test_a_function_that_does_not_compile_is_named():
    with pytest.raises(EngineError, match="operator untyped: apply function untyped"):
        columns(pipeline("fails", first(untyped)), readings(5, 1, 0))


def test_what_the_core_cannot_run_is_refused_with_a_reason():
    wide = np.dtype([("ts", np.int64), ("a", np.int64, (3,))])
    forwards = pipeline("arrays", stateless(name="wide", output=wide, apply=some))
    with pytest.raises(UnsupportedError, match="operator wide forwards field a of type"):
        columns(forwards, readings(5, 1, 0))
    keys = PIPELINES["a filter, keys, a total"]
    with pytest.raises(
        UnsupportedError, match="operator remember: 100000 partitions times a window"
    ):
        columns(keys, readings(5, 1, 0), partitions=100_000, window=1024)
    with pytest.raises(UnsupportedError, match="at most 64 streams, got 65"):
        columns(PIPELINES["stateless"], readings(1, 65, 0))


def test_a_closed_run_says_so():
    run = OrderedRun(PIPELINES["stateless"], readings(5, 1, 0), RunSettings(ring_blocks=4))
    run.close()
    run.close()
    with pytest.raises(EngineError, match="this run is closed"):
        run.run()
