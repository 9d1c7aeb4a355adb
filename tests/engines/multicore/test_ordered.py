"""Ordered pipelines on the multicore engine give the interpreter's sequence, record by record."""

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.multicore.ordered.run import OrderedOptions
from streamlab.workloads.model import stateless
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.multicore.native_runs import even_load, make_run, run_native
from tests.engines.multicore.pipelines import (
    SEQUENCES,
    TOTALLING,
    each,
    keyed,
    many,
    pipeline,
    raises,
    readings,
    remember,
    scale,
    some,
)
from tests.workloads.suite.streams import generated, rows

QUEUES = [
    *(("source", worklist) for worklist in ("homed", "hybrid", "partitioned", "shared")),
    *(("operator", worklist) for worklist in ("hybrid", "partitioned", "shared")),
]
"""Serials and worklists that go together."""
RETAIL = (
    "items_sold_together",
    "items_viewed_together",
    "last_views_before_purchase",
    "cart_abandonment",
    "declining_categories",
)
"""The five TPCx-BB queries."""
KEYED = keyed(remember)


def by_itself(t):
    return t.x


def bad_key(t):
    if t.x == 8:
        raise ValueError("eight")
    return t.x


def untyped(t, out):
    out.emit(t.nowhere, 1.0, True)


def check_sequence(asked, data, wanted=None, **how):
    """Run a pipeline, compare it with the interpreter by columns; return what was measured."""
    how = {"ring_blocks": 16 if how.get("load") is None else 1 << 14, "pin": False, **how}
    measured, got = run_native("ordered", asked, data, **how)
    wanted = answer_of(asked, data) if wanted is None else wanted
    assert {n: c.dtype for n, c in got.items()} == {n: c.dtype for n, c in wanted.items()}
    for name, column in wanted.items():
        np.testing.assert_array_equal(got[name], column, err_msg=name)
    return measured


@pytest.mark.some(1)
@pytest.mark.parametrize("bounds", [None, (-2000, 0, 1, 5000)])
def test_tables_beyond_the_caches_keep_the_state_of_every_key(bounds):
    # 9,000 keys whose table takes 450 KB: their states are asked for before they are needed.
    partitions = {} if bounds is None else {"bounds": bounds}
    asked = pipeline("many keys", keyed(remember, by_itself, **partitions), TOTALLING)
    x = np.random.default_rng(8).integers(-4000, 5000, 30_000).astype(np.int32)
    data = input_of(("reading",), (0, np.arange(30_000), {"x": x, "y": np.zeros(30_000)}))
    expected = answer_of(asked, data)
    for workers, batch, count in ((1, 64, None), (1, 100, 3), (2, 64, 3)):
        check_sequence(asked, data, expected, workers=workers, batch=batch, partitions=count)


@pytest.mark.some(2)
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("name", ["a filter, keys, a total", "fifty of each", "keys first"])
def test_repeats_give_one_sequence(name, loaded, workers):
    asked, data = SEQUENCES[name], readings(600, 2, 3)
    expected = answer_of(asked, data)
    assert len(expected["ts"]) > 100
    for repeat in range(8):
        check_sequence(
            asked,
            data,
            expected,
            workers=workers,
            batch=(1, 64)[repeat % 2],
            load=even_load(data, 200) if loaded else None,
            serials=QUEUES[repeat % 7][0],
            worklist=QUEUES[repeat % 7][1],
            reordering=("nonblocking", "lock")[repeat // 4],
        )


def test_fields_that_a_stream_does_not_carry_are_zero():
    x = np.arange(5, dtype=np.int32)
    data = input_of(("reading",), (0, np.arange(5), {"x": x}), (0, np.arange(3), {}))
    check_sequence(SEQUENCES["stateless"], data, batch=4)


def test_counters_show_costs_of_operators_and_steps_of_the_scheduler():
    data = readings(5000, 1, 1)
    how = {"workers": 2, "batch": 64, "ring_blocks": 16}
    measured, got = run_native("ordered", SEQUENCES["a filter, keys, a total"], data, **how)
    counters = measured.counters
    assert counters["1_some_rows"] == 5000
    passed = int((data.streams[0].payload["x"] > 0).sum())
    assert counters["1_some_selectivity"] == pytest.approx(passed / 5000)
    assert counters["2_remember_rows"] == counters["3_total_rows"] == len(got["ts"]) == passed
    assert counters["3_total_selectivity"] == 1
    for number in ("1_some", "2_remember", "3_total"):
        assert counters[f"{number}_cost_ns"] > 0
    shares = sum(value for name, value in counters.items() if name.endswith("_time_share"))
    assert 0 < shares <= 1
    assert counters["scheduler_decisions"] >= 3 and counters["scheduler_ns"] > 0
    units = -(-5000 // 64)
    assert counters["reordering_adds"] == counters["reordering_sends"] == 3 * units
    assert counters["window_units"] == 128
    # Units with records from the 20th to the 80th percentile.
    assert measured.latency.counts.sum() == 3999 // 64 - 1000 // 64 + 1
    assert counters["processing_p50_ns"] <= counters["processing_p99_ns"]
    assert measured.plan == (
        "some: stateless -> remember: partitioned, 4 partitions by hash, homed -> "
        "total: stateful; 2 workers, scheduler ct, nonblocking reordering"
    )


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ((each(scale), keyed(raises)), r"operator raises: its function or its key .* in raises \("),
        (
            (each(scale), keyed(remember, bad_key)),
            r"operator remember: its function or its key .* in bad_key \(",
        ),
        ((each(many, max_outputs=2),), r"operator many: its function emitted \d+ records"),
        ((each(many),), r"operator many: its function emitted \d+ records beyond max_out"),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_names_the_operator_and_stops_the_run(stages, message, workers):
    columns = {"x": (np.arange(500) % 20).astype(np.int32), "y": np.ones(500)}
    data = input_of(("reading",), (0, np.arange(500), columns))
    with pytest.raises(EngineCrashError, match=message):
        run_native("ordered", pipeline("fails", *stages), data, workers=workers, batch=8)


def test_serials_of_operators_number_what_each_operator_reads():
    asked, data = SEQUENCES["fifty of each"], readings(1000, 1, 1)
    measured = check_sequence(asked, data, workers=2, serials="operator", partitions=4)
    counters = measured.counters
    assert measured.plan.endswith("nonblocking reordering, serials of operators")
    # 1,000 records, once each; and fifty of each at both operators behind.
    assert counters["reordering_adds"] == counters["reordering_sends"] == 2 * 1000 + 2 * 50_000
    assert counters["window_units"] == 1024


def test_programs_that_the_core_cannot_run_are_refused_with_a_reason():
    data = readings(5, 1, 0)
    with pytest.raises(EngineError, match="operator untyped: apply function untyped"):
        make_run("ordered", pipeline("fails", each(untyped)), data)
    wide = np.dtype([("ts", np.int64), ("a", np.int64, (3,))])
    forwards = pipeline("arrays", stateless(name="wide", output=wide, apply=some))
    with pytest.raises(UnsupportedError, match="operator wide forwards field a of type"):
        make_run("ordered", forwards, data)
    too_many = {"partitions": 100_000, "window": 1024}
    with pytest.raises(
        UnsupportedError, match="operator remember: 100000 partitions times a window"
    ):
        make_run("ordered", SEQUENCES["a filter, keys, a total"], data, **too_many)


@pytest.mark.some(3)
@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("name", RETAIL)
def test_a_native_pipeline_gives_the_sequence_of_the_oracle(name: str, streams: int):
    chosen = workload(name)
    data = ordinary_input(chosen)
    if streams > 1:
        small = {**chosen.small, "streams": streams}
        data = generated(chosen, small, max(20_000, chosen.small_events), seed=4)
    expected = rows(chosen, chosen.oracle(data))
    assert len(expected) > 1
    for workers, batch, options in (
        (1, 64, {}),
        (2, 7, {}),
        (2, 1, {"serials": "operator", "worklist": "partitioned", "partitions": 3}),
        (1, 64, {"serials": "operator"}),
    ):
        how = {"workers": workers, "batch": batch, "ring_blocks": 16, **options}
        _, got = run_native("ordered", chosen.program, data, **how)
        assert rows(chosen, got) == expected


@pytest.mark.parametrize(
    ("workers", "batch", "units"),
    [(1, 1, 1024), (2, 8, 1024), (2, 64, 128), (2, 4096, 16), (64, 4096, 256)],
)
def test_the_window_holds_some_records_and_some_units_for_each_worker(workers, batch, units):
    assert OrderedOptions().window_for(workers, batch) == units


def test_serials_of_operators_use_the_papers_hybrid_queue_by_default():
    assert OrderedOptions().queue == "homed"
    assert OrderedOptions(serials="operator").queue == "hybrid"
    assert OrderedOptions(serials="operator", worklist="shared").queue == "shared"
    assert OrderedOptions(serials="operator").units_for(3) == 8
    assert OrderedOptions().units_for(3) == 4


@pytest.mark.parametrize(
    ("worklist", "workers", "partitions"), [("homed", 1, 1), ("homed", 8, 16), ("hybrid", 8, 100)]
)
def test_only_the_worklist_with_homes_bounds_the_partitions(worklist, workers, partitions):
    options = OrderedOptions(worklist=worklist)
    assert options.partitions_of(KEYED, workers) == partitions
    assert options.partitions_of(each(scale), workers) == 1


def test_declared_partitions_and_windows_are_used_except_for_ranges():
    assert OrderedOptions(partitions=7).partitions_of(KEYED, 1) == 7
    assert OrderedOptions(partitions=7).partitions_of(keyed(remember, bounds=(1, 2, 3)), 1) == 4
    assert OrderedOptions(window=3).window_for(8, 1) == 3
