"""Operators O+ as query graphs: every workload of them, in every determinism layer."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.multicore.layers.run import (
    COMMUNICATION,
    NONE,
    OPERATOR,
    check_graph,
)
from streamlab.workloads.model import ListColumn, Query, Window
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of, sorted_rows
from tests.engines.multicore.chains import QUERIES as CHAINS
from tests.engines.multicore.native_runs import check_native, run_native
from tests.engines.multicore.operator_queries import JOIN, RANDOM, query

LAYERS = (COMMUNICATION, OPERATOR)


run = partial(run_native, "layers", ring_blocks=1 << 12)


def check_query(asked, data, **how):
    """Run a query as a graph, compare it with the interpreter; return what was measured."""
    measured, got = run(asked, data, **how)
    assert sorted_rows(got) == sorted_rows(answer_of(asked, data))
    assert (np.diff(got["ts"]) >= 0).all()
    return measured


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("instances", [1, 2, 4, 6])
@pytest.mark.parametrize("name", ["wordcount", "scale_join"])
def test_repeats_give_one_answer_in_either_layer(name, instances):
    subject = workload(name)
    data = ordinary_input(subject)
    seen = set()
    for repeat in range(8):
        _, got = check_native(
            "layers",
            subject,
            data,
            workers=instances,
            ring_blocks=1 << 12,
            batch=(1, 64)[repeat // 4],
            determinism=LAYERS[repeat % 2],
            link_rows=(4096, 16)[repeat // 2 % 2],
        )
        # More than equal traces: the order of ties is one as well.
        seen.add(b"".join(column.tobytes() for column in got.values()))
    assert len(seen) == 1


def two_streams(count, apart):
    """Return two streams of a tuple with one id at each time, the second so much later."""
    ids = ListColumn(values=(np.arange(count) % 13).astype(np.int32), offsets=np.arange(count + 1))
    columns = {"x": np.zeros(count, dtype=np.int64), "ids": ids}
    times = np.arange(count)
    return input_of(("first", "second"), (0, times, columns), (0, times + apart, columns))


def two_streams_apart(count):
    """Return two streams, one of which is all before the other in time."""
    return two_streams(count, apart=count)


def test_without_determinism_the_comparison_names_the_difference():
    # Of one time each: whatever comes first, blocks of it are longer than a window.
    asked, data = RANDOM["tumbling"], two_streams(20_000, apart=0)
    how = {"workers": 2, "batch": 16, "link_rows": 256}
    measured, got = run(asked, data, determinism=NONE, **how)
    assert sorted_rows(got) != sorted_rows(answer_of(asked, data))
    assert measured.counters["logs"] == measured.counters["mergers"] == 0
    assert measured.counters["kernel_calls"] > 0 and "comparisons" not in measured.counters
    assert "2 injectors -> tumbling (keyed windows) x 2, 7 buckets" in measured.plan
    for determinism in LAYERS:
        check_query(asked, data, determinism=determinism, **how)


def test_outputs_far_beyond_their_tuples_do_not_stop_the_graph():
    # Timed as the end of a window of which all channels together hold a hundredth.
    asked = RANDOM["emitting"]
    wide = replace(asked.operators[0], window=Window(advance=4_000, size=4_000), name="wide")
    asked = Query(name="wide", operators=(wide,))
    data = two_streams_apart(4_000)
    for determinism in LAYERS:
        for workers in (2, 5):
            check_query(asked, data, workers=workers, determinism=determinism, link_rows=2)


def test_instances_of_a_join_share_the_comparisons():
    subject = workload("scale_join")
    data = ordinary_input(subject)
    counted = set()
    for workers in (1, 2, 5):
        measured, _ = run(subject.program, data, workers=workers, batch=64)
        counted.add(measured.counters["comparisons"])
        assert "join of all pairs" in measured.plan
    assert len(counted) == 1 and counted.pop() > 0


def emit_thrice(w, out):  # so that a chunk of memory has room for one of the last three
    for n in range(3):
        out.emit(w[0].key, w[0].sum, n)


def test_records_beyond_an_operators_declaration_end_the_run():
    asked = query("generous", Window(advance=3, size=3), expire=emit_thrice)
    keys = 120_000  # of one tuple; what they give when the window ends is more than a chunk
    ids = ListColumn(values=np.arange(keys, dtype=np.int32), offsets=np.array([0, keys, keys]))
    data = input_of(("first", "second"), (0, [0, 9], {"x": np.zeros(2, np.int64), "ids": ids}))
    with pytest.raises(EngineCrashError, match=r"operator generous: .* beyond max_outputs"):
        run(asked, data, workers=2, batch=64)


def test_windows_end_with_the_last_tuple_even_if_less_is_known_to_have_passed():
    data = replace(two_streams_apart(300), until_ts=20)
    for workers in (1, 3):
        check_query(RANDOM["sliding"], data, workers=workers)


def fail_late(w, t, out):
    if t.ts == 300:
        raise ValueError("three hundred")
    w[t.input].count += 1


def no_keys_at_300(t, out):
    if t.ts == 300:
        raise ValueError("three hundred")
    out.add(t.x)


@pytest.mark.parametrize("functions", [{"update": fail_late}, {"keys": no_keys_at_300}])
def test_a_function_that_raises_ends_the_run_and_is_named(functions):
    asked = query("failing", Window(advance=3, size=3), **functions)
    with pytest.raises(EngineCrashError, match="operator failing: keys"):
        run(asked, two_streams_apart(1000), workers=2, link_rows=4)


def test_a_workload_that_is_no_graph_is_refused_with_a_reason():
    chain = CHAINS["aggregate twice"]
    assert "has 2 operators" in str(check_graph(chain, OPERATOR))
    assert "needs an order" in str(check_graph(JOIN, NONE))
    assert check_graph(JOIN, COMMUNICATION) is None
    assert check_graph(RANDOM["tumbling"], NONE) is None
    with pytest.raises(UnsupportedError, match="use variant vsn"):
        run(chain, two_streams_apart(9), workers=2)
