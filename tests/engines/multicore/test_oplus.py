"""Operators O+ on the multicore engine: determinism, operators in a row, and instances that share nothing."""

import itertools
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.multicore.oplus.refusal import check_query
from streamlab.workloads.model import InputType, ListColumn, Operator, Query, Window
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of, sorted_rows
from tests.engines.multicore.chains import QUERIES as CHAINS
from tests.engines.multicore.chains import SLIDING, TUMBLING_TOTALS, query, readings, totalling
from tests.engines.multicore.native_runs import check_native, make_run, run_native
from tests.engines.multicore.operator_queries import (
    BUCKETS,
    FIRST,
    OUTPUT,
    STATE,
    STORED,
    emit_sums,
    halve,
    ids_of,
)
from tests.engines.multicore.operator_queries import query as query_of_one
from tests.examples import examples
from tests.workloads.suite.streams import generated

BY_KEY = {"join_form": "operator10"}
REPEATS = examples(16)


def run(query, data, **how):
    return run_native("vsn", query, data, **{"ring_blocks": 16, "pin": False, **how})


@pytest.mark.some(2)
@pytest.mark.parametrize("instances", [4, 1, 2, 8])
@pytest.mark.parametrize("name", ["wordcount", "scale_join"])
def test_repeats_logs_and_batches_give_the_same_sequence(name, instances):
    """One number of instances gives one, whatever the threads do meanwhile."""
    program, data = workload(name).program, ordinary_input(workload(name))
    how = {"workers": instances, "measure": False}
    for shared_nothing in [False, True] if program.operators[0].join is None else [False]:
        seen = set()
        for tuple_buffer in ("order", "scalegate"):
            for batch in (1, 64) * REPEATS:
                how |= {"tuple_buffer": tuple_buffer, "shared_nothing": shared_nothing}
                _, got = run(program, data, batch=batch, **how)
                seen.add(tuple(column.tobytes() for column in got.values()))
        assert len(seen) == 1
        assert len(seen.pop()[0]) > 0


def thrice(w, t, out):
    for _ in range(3):
        w[0].tuples.append(t)


def drop(w, t, out):
    w[0].tuples.popleft()


@pytest.mark.full
@pytest.mark.parametrize(
    ("update", "message"),
    [(thrice, "appends more than one tuple"), (drop, "pop from an empty deque")],
)
def test_a_misused_deque_ends_the_run_with_its_name(update, message):
    (operator,) = STORED["kept"].operators
    asked = Query(name="kept", operators=(replace(operator, update=update),))
    columns = {"x": np.arange(20), "y": np.zeros(20, np.float32)}
    with pytest.raises(EngineCrashError, match=message):
        run(asked, input_of(asked.kinds, (0, np.arange(20), columns)))


def test_joins_by_key_read_any_number_of_streams_of_each_side():
    subject = workload("scale_join").bound({"ws_ms": 200, "shares": 7})
    data = generated(subject, {"highest": 300, "streams": 3, "right_eps": 500}, 1_500, 2)
    expected = subject.oracle(data)
    assert len(expected["ts"]) > 100
    for variant in ("vsn", "sn"):
        check_native(variant, subject, data, expected, workers=3, batch=64, **BY_KEY)
    reason = check_query(subject.program, data, fused=True)
    assert reason is not None and 'join_form = "operator10", which reads any' in reason


def test_programs_that_the_core_cannot_run_are_refused_with_a_reason():
    operator = Operator(
        name="stored",
        inputs=(FIRST,),
        window=Window(advance=1, size=2, type=SINGLE),
        output=OUTPUT,
        state=STATE,
        keys=ids_of,
        stores=True,
    )
    stored = Query(name="stored", operators=(operator,))
    reason = check_query(stored, input_of(stored.kinds), fused=False)
    assert reason is not None and "stores tuples with the lists ['ids']" in reason


LONE = InputType(name="lone", fields=np.dtype([("x", np.int64)]))


def one_key(t, out):
    out.add(t.x)


def one_key_at_first(t, out):
    if t.x < 0:
        out.add(-t.x)
        out.add(-t.x)
        out.add(t.x)
    elif t.x != 13:
        out.add(t.x)


def order_matters(w, t, out):
    w[0].sum = (3 * w[0].sum + t.ts) % 1009
    w[0].count += 1


@pytest.mark.some(4)
@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("streams", [1, 2, 5])
@pytest.mark.parametrize("instances", [1, 2, 9])
@pytest.mark.parametrize("variant", ["vsn", "sn", "sn-map"])
@pytest.mark.parametrize("keys", [one_key, one_key_at_first])
def test_tuples_with_one_key_are_processed_in_order(keys, variant, instances, streams, batch):
    operator = Operator(
        name="lone",
        inputs=(LONE,),
        window=Window(advance=700, size=700),
        output=OUTPUT,
        state=STATE,
        keys=keys,
        update=order_matters,
        expire=emit_sums,
        buckets=40,
    )
    rng = np.random.default_rng(streams)
    parts = []
    for _ in range(streams):
        x = rng.integers(0, 30, 6_000)
        if keys is one_key_at_first:
            x[4_000::50] *= -1
        parts.append((0, np.sort(rng.integers(0, 3_000, 6_000)), {"x": x}))
    asked, data = Query(name="lone", operators=(operator,)), input_of(("lone",), *parts)
    _, got = run_native(variant, asked, data, workers=instances, batch=batch, pin=False)
    assert sorted_rows(got) == sorted_rows(answer_of(asked, data))


# ---- Several operators in a row -------------------------------------------------------------------


def refuse(w, t, out):
    if t.count > 0:
        raise ValueError("no counts")


@pytest.mark.some(1)
@pytest.mark.parametrize("instances", [4, 2, 1])
@pytest.mark.parametrize(
    "name", ["aggregate thrice", "emit twice then aggregate", "keep times, aggregate"]
)
def test_one_number_of_instances_gives_one_sequence_of_a_chain(name, instances):
    asked, data = CHAINS[name], readings(400, 2, 3)
    expected = sorted_rows(answer_of(asked, data))
    assert len(expected) > 100
    seen = set()
    for repeat in range(8):
        _, got = run(
            asked,
            data,
            workers=instances,
            batch=(1, 64)[repeat % 2],
            tuple_buffer=("order", "scalegate")[repeat // 2 % 2],
            link_rows=(None, 4)[repeat // 4],
        )
        assert sorted_rows(got) == expected
        seen.add(b"".join(column.tobytes() for column in got.values()))
    assert len(seen) == 1


def test_a_plan_names_all_operators_and_what_finds_no_room_between_them_is_counted():
    measured, _ = run(CHAINS["aggregate twice"], readings(200, 1, 0), workers=2, link_rows=2)
    assert measured.plan == (
        "counting: 2 instances, 7 buckets of keys -> totalling: 2 instances, 5 buckets of keys"
    )
    counters = measured.counters
    assert counters["spilled_rows"] >= counters["spilled_rows_peak"] > 2


def test_an_error_names_the_operator():
    second = totalling(Window(advance=5, size=5), update=refuse)
    message = "operator totalling: keys or update raised an exception"
    with pytest.raises(EngineCrashError, match=message):
        run(query("fails", SLIDING, second), readings(50, 1, 0), workers=2)


def test_chains_that_share_nothing_are_refused_with_a_reason():
    with pytest.raises(UnsupportedError, match="variant sn runs queries of one operator"):
        make_run("sn", CHAINS["aggregate twice"], readings(9, 1, 0), workers=2)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (replace(TUMBLING_TOTALS, stores=True), "operator totalling stores tuples"),
        # The windows of all operators count for the range of event times.
        (replace(TUMBLING_TOTALS, window=Window(advance=1 << 61, size=1 << 61)), "exceed 2^61"),
    ],
    ids=["stores tuples", "a window too far"],
)
def test_a_later_operator_that_cannot_run_is_refused(second, message):
    reason = check_query(query("refused", SLIDING, second), readings(9, 1, 0), fused=False)
    assert reason is not None and message in reason


def test_a_controller_needs_measured_parameters():
    script = {"kind": "script", "period_ms": 10.0, "steps": [[0.05, 2]]}
    how = {"measure": False, "max_instances": 2, "controller": script}
    with pytest.raises(UnsupportedError, match="remove the option measure = false"):
        make_run("vsn", query("one", SLIDING), readings(9, 1, 0), **how)


# ---- Instances that share nothing -----------------------------------------------------------------


def each_id(t, out):
    for key in t.ids:
        out.add(key)


def by_key(key):
    return key


def counting(window, slide=None):
    """Return a query that counts ids, whose bucket is their remainder."""
    functions = {"keys": each_id, "expire": emit_sums, "slide": slide, "bucket": by_key}
    return query_of_one("counting", window, **functions)


def texts(*streams, until_ts=None):
    """Return an input of streams, each given by event times and by the ids at each."""
    made = (
        (0, ts, {"x": np.ones(len(ts), np.int64), "ids": ListColumn.of(ids, np.int32)})
        for ts, ids in streams
    )
    return input_of(("first", "second"), *made, until_ts=until_ts)


@pytest.mark.parametrize(
    "data",
    [
        texts(([0, 5, 20], [[0], [1], [0]])),  # an instance has no part in the last tuple
        texts(([0, 5], [[0], [1]]), until_ts=21),
    ],
    ids=["the last tuple", "a cut"],
)
def test_windows_close_on_every_instance(data):
    asked = counting(Window(advance=10, size=10))
    _, got = run_native("sn", asked, data, workers=2, batch=3, ring_blocks=8)
    assert sorted_rows(got) == sorted_rows(answer_of(asked, data)) == [(10, 0, 1, 0), (10, 1, 1, 0)]


def rare_ids(rng, tuples, streams, span):
    """Return streams in which instances differ in what they have seen last."""
    parts = []
    for _ in range(streams):
        ids = [
            rng.integers(0, 40, rng.integers(0, 3)).tolist() if rng.random() < 0.6 else []
            for _ in range(tuples)
        ]
        parts.append((np.sort(rng.integers(-span, span, tuples)), ids))
    return texts(*parts)


@pytest.mark.parametrize("single", [False, True])
def test_state_moves_while_tuples_wait(single):
    rng = np.random.default_rng(int(single))
    window = Window(advance=25, size=100, type="single" if single else "multi")
    asked = counting(window, slide=halve if single else None)
    switches = 0
    for turn in itertools.count():
        if turn >= 6 and switches > 0:  # whether a call comes in time is the scheduler's to say
            break
        data = rare_ids(rng, 4000, 2, 5000)
        expected = sorted_rows(answer_of(asked, data))
        how = {"workers": 2, "batch": 8, "ring_blocks": 8, "max_instances": 4}
        native = make_run("sn", asked, data, **how)
        sets = [rng.choice(4, n, replace=False) for n in rng.integers(1, 5, 40)]
        moves = [(tuple(active.tolist()), rng.choice(active, BUCKETS)) for active in sets]
        done = []

        def change(native=native, moves=moves, done=done):
            for instances, mapping in moves:
                if native.reconfigure(instances, mapping) is None:
                    return
                done.append(instances)
                time.sleep(0)

        changer = threading.Thread(target=change)
        changer.start()
        native.run()
        changer.join()
        assert sorted_rows(native.answer()) == expected
        native.close()
        switches += len(done)
