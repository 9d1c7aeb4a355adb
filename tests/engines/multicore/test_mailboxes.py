"""Mailboxes by tag give the answer of those by horizon, with whatever room, and end.

All threads share one core, and rings hold two blocks: who waits for room that only a waiting thread
can make would wait for ever. Why none does: docs/decisions/0029-mailboxes-by-tag.md.
"""

import itertools
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError
from streamlab.workloads.model import OutputType
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.suite.keyed_counter import program as keyed_counter
from streamlab.workloads.suite.keyed_counter.program import INCREMENT, READ_RESET
from tests.engines.inputs import input_of
from tests.engines.multicore.native_runs import run_native
from tests.engines.multicore.recovery.small_runs import NAMES, check_run
from tests.engines.multicore.recovery.small_runs import input_of as small_input
from tests.engines.tasks import assert_equal

BY_TAG = {"mailbox": "tags", "workers": 3, "pin": False}
EVENTS = 6_000


pytestmark = pytest.mark.usefixtures("one_core")


def run(name, **how):
    """Return what a right run measured."""
    measured = check_run(name, EVENTS, pin=False, mailbox="tags", **how)
    events = small_input(name, EVENTS).events
    assert measured.events == measured.progress.consumed.sum() == events
    return measured


@pytest.mark.pairwise
@pytest.mark.parametrize("buffer_runs", [0, 1, 1 << 16])
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_oracles_with_any_room(name, workers, buffer_runs):
    for gather, batch in product((False, True), (1, 64)):
        how = {"buffer_runs": buffer_runs, "gather": gather, "batch": batch}
        run(name, workers=workers, ring_blocks=2, **how)


@pytest.mark.parametrize("name", NAMES)
def test_snapshots_are_taken_when_no_key_waits(name, tmp_path):
    checkpoints = {"checkpoint_every": 1, "checkpoint_ms": 0, "checkpoint_folder": str(tmp_path)}
    measured = run(name, workers=3, batch=16, **checkpoints)
    assert measured.counters["checkpoints"] > 0
    max(tmp_path.glob("checkpoint-*")).unlink()  # the end
    check_run(name, EVENTS, workers=2, mailbox="tags", **checkpoints)


def test_keys_that_share_a_stream_go_on_while_one_waits():
    far = {"workers": 2, "batch": 16, "ring_blocks": 64, "gather": False}
    measured = run("keyed_counter", **far)
    assert measured.counters["buffered_events"] > 100
    assert measured.counters["most_buffered_runs"] > 10
    few = run("keyed_counter", buffer_runs=5, **far)
    lanes = len(small_input("keyed_counter", EVENTS).streams)
    assert few.counters["most_buffered_runs"] <= 5 + lanes
    horizon = check_run("keyed_counter", EVENTS, **far)
    assert "buffered_events" not in horizon.counters


def test_with_one_key_nothing_is_put_aside():
    measured = run("event_window", workers=2, batch=64, gather=False)
    assert measured.counters["buffered_events"] == 0


def echo(state, event, out):
    """Count, and say of each event that it was there; of a read-reset, how many it reads."""
    out.emit(event.ts, event.kind, event.key, state.count * (event.kind == READ_RESET))
    state.count = (state.count + 1) * (event.kind == INCREMENT)


ECHO = replace(
    keyed_counter.PROGRAM,
    name="echo",
    output=np.dtype([("ts", np.int64), ("kind", np.int32), ("key", np.int32), ("count", np.int64)]),
    states=(replace(keyed_counter.PROGRAM.states[0], update=echo),),
)
ECHOES = OutputType(
    kinds=ECHO.kinds, kind_field="kind", key_field="key", depends=keyed_counter.PROGRAM.depends
)


@pytest.mark.parametrize("gather", [False, True])
def test_outputs_of_a_key_that_waited_are_in_order_around_those_it_waited_for(gather):
    data = mixed_streams(keys=5, events=2_000)
    right = answer_of(ECHO, data)
    late = 0
    for batch in itertools.cycle((1, 16)):
        measured, answer = run_native("dgs", ECHO, data, batch=batch, gather=gather, **BY_TAG)
        late += measured.counters["buffered_events"]
        assert_equal(right, answer, ECHOES)
        # How many wait is the scheduler's to say; who gathers may have none.
        if batch == 16 and (late > 100 or gather):
            break


def echo_twice(state, event, out):
    echo(state, event, out)
    echo(state, event, out)


def test_more_outputs_than_declared_are_counted_of_events_that_waited_too():
    data = mixed_streams(keys=5, events=2_000)
    twice = replace(ECHO, states=(replace(ECHO.states[0], update=echo_twice),))
    measured, _ = run_native("dgs", ECHO, data, gather=False, **BY_TAG)
    assert measured.counters["buffered_events"] > 100
    with pytest.raises(EngineCrashError, match=f"emitted {data.events} records beyond"):
        run_native("dgs", twice, data, gather=False, **BY_TAG)


def mixed_streams(keys, events):
    """Return three streams, each of which holds increments and read-resets of all keys."""
    rng = np.random.default_rng(5)

    def stream():
        kinds = rng.integers(0, 8, events) // 7  # an eighth are read-resets
        tag = kinds + len(ECHO.kinds) * rng.integers(0, keys, events)
        return (INCREMENT, READ_RESET), np.sort(rng.integers(0, events, events)), {"tag": tag}

    return input_of(ECHO.kinds, stream(), stream(), stream(), keys=keys)
