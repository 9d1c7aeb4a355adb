"""Mailboxes by tag give the answer of those by horizon, with whatever room, and end.

All threads share one core, and rings hold two blocks: who waits for room that only a waiting thread
can make would wait for ever. Why none does: docs/decisions/0029-mailboxes-by-tag.md.
"""

import itertools
import os
from contextlib import closing
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.small_load import small_load
from streamlab.workloads.model import Alphabet, Input, OutputType, Stream
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.suite.keyed_counter import program as keyed_counter
from streamlab.workloads.suite.keyed_counter.program import INCREMENT, READ_RESET
from tests.engines.multicore.recovery.small_runs import (
    NAMES,
    input_of,
    is_right,
    kernels_of,
    program_of,
)

EVENTS = 6_000


@pytest.fixture(autouse=True)
def one_core():
    """All threads of the test share a core."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cores)})
    yield
    os.sched_setaffinity(0, all_cores)


def run(name, options, *, workers, load=None, **settings):
    """Return what a right run measured."""
    how = RunSettings(workers=workers, pin=False, load=load, **settings)
    program, data = program_of(name), input_of(name, EVENTS)
    with closing(DgsRun(program, data, how, options, kernels=kernels_of(name))) as made:
        measured, answer = made.run(), made.answer()
    assert is_right(name, EVENTS, answer)
    assert measured.events == data.events
    assert measured.progress.consumed.sum() == data.events
    return measured


@pytest.mark.pairwise
@pytest.mark.parametrize("buffer_runs", [0, 1, 1 << 16])
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_oracles_with_any_room(name, workers, buffer_runs):
    for gather, batch in product((False, True), (1, 64)):
        options = DgsOptions(mailbox="tags", buffer_runs=buffer_runs, gather=gather)
        run(name, options, workers=workers, batch=batch, ring_blocks=2)


@pytest.mark.parametrize("name", ["keyed_counter", "plugs"])
def test_the_answer_is_the_oracles_under_a_load(name):
    data = input_of(name, EVENTS)
    due = np.arange(data.events, dtype=np.int64) * 1_000
    load = small_load([stream.ts for stream in data.streams], due, silence_ns=500_000)
    run(name, DgsOptions(mailbox="tags"), workers=3, load=load)


@pytest.mark.parametrize("name", NAMES)
def test_snapshots_are_taken_when_no_key_waits(name, tmp_path):
    options = DgsOptions(
        mailbox="tags", checkpoint_every=1, checkpoint_ms=0, checkpoint_folder=str(tmp_path)
    )
    measured = run(name, options, workers=3, batch=16)
    assert measured.counters["checkpoints"] > 0
    max(tmp_path.glob("checkpoint-*")).unlink()  # the end
    how = RunSettings(workers=2)
    program, data = program_of(name), input_of(name, EVENTS)
    with closing(DgsRun(program, data, how, options, kernels=kernels_of(name))) as again:
        again.run()
        assert is_right(name, EVENTS, again.answer())


def test_keys_that_share_a_stream_go_on_while_one_waits():
    far = {"workers": 2, "batch": 16, "ring_blocks": 64}
    measured = run("keyed_counter", DgsOptions(mailbox="tags", gather=False), **far)
    assert measured.counters["buffered_events"] > 100
    assert measured.counters["most_buffered_runs"] > 10
    few = run("keyed_counter", DgsOptions(mailbox="tags", buffer_runs=5, gather=False), **far)
    lanes = len(input_of("keyed_counter", EVENTS).streams)
    assert few.counters["most_buffered_runs"] <= 5 + lanes
    horizon = run("keyed_counter", DgsOptions(gather=False), **far)
    assert "buffered_events" not in horizon.counters


def test_with_one_key_nothing_is_put_aside():
    measured = run("event_window", DgsOptions(mailbox="tags", gather=False), workers=2, batch=64)
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
        options = DgsOptions(mailbox="tags", gather=gather)
        how = RunSettings(workers=3, pin=False, batch=batch)
        with closing(DgsRun(ECHO, data, how, options)) as made:
            late += made.run().counters["buffered_events"]
            assert compare(right, made.answer(), ECHOES).equal
        # How many wait is the scheduler's to say; who gathers may have none.
        if batch == 16 and (late > 100 or gather):
            break


def echo_twice(state, event, out):
    echo(state, event, out)
    echo(state, event, out)


def test_more_outputs_than_declared_are_counted_of_events_that_waited_too():
    data = mixed_streams(keys=5, events=2_000)
    twice = replace(ECHO, states=(replace(ECHO.states[0], update=echo_twice),))
    how = RunSettings(workers=3, pin=False, batch=1)
    options = DgsOptions(mailbox="tags", gather=False)
    with closing(DgsRun(ECHO, data, how, options)) as once:
        assert once.run().counters["buffered_events"] > 100
    with (
        closing(DgsRun(twice, data, how, options)) as made,
        pytest.raises(EngineCrashError, match=f"emitted {data.events} records beyond"),
    ):
        made.run()


def mixed_streams(keys, events):
    """Return three streams, each of which holds increments and read-resets of all keys."""
    rng = np.random.default_rng(5)

    def stream(name):
        kinds = rng.integers(0, 8, events) // 7  # an eighth are read-resets
        tag = (kinds + len(ECHO.kinds) * rng.integers(0, keys, events)).astype(np.int32)
        ts = np.sort(rng.integers(0, events, events))
        return Stream(name=name, kinds=(INCREMENT, READ_RESET), ts=ts, tag=tag, payload={})

    alphabet = Alphabet(kinds=ECHO.kinds, keys=keys)
    return Input(alphabet=alphabet, streams=tuple(map(stream, "abc")))
