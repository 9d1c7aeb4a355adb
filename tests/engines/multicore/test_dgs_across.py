"""Events across keys on the native core: who meets, what is refused, what fails."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import Alphabet, Input, Stream
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from tests.across import HOUSE, KINDS, OUTPUT, PLUGS, READ, SLICE, house_of

KEYS = 40


def plugs(events=4000, streams=2, seed=1):
    """Return readings in several streams, houses' events in one and slices in another."""
    rng = np.random.default_rng(seed)

    def stream(name, kind, ts, keys):
        tag = None if keys is None else (kind + len(KINDS) * keys).astype(np.int32)
        value = rng.integers(-9, 9, len(ts))
        return Stream(name=name, kinds=(kind,), ts=np.sort(ts), tag=tag, payload={"value": value})

    read = [
        stream(f"read-{i}", READ, rng.integers(0, events, events), rng.integers(0, KEYS, events))
        for i in range(streams)
    ]
    houses = rng.integers(0, house_of(KEYS - 1) + 1, events // 20)
    return Input(
        alphabet=Alphabet(kinds=KINDS, keys=KEYS),
        streams=(
            *read,
            stream("house", HOUSE, rng.integers(0, events, len(houses)), houses),
            stream("slice", SLICE, np.arange(0, events, events // 50), None),
        ),
    )


def run(program, data, *, workers, options=None, **settings):
    made = DgsRun(program, data, RunSettings(workers=workers, **settings), options)
    try:
        return made.run(), made.answer()
    finally:
        made.close()


@pytest.mark.parametrize("optimizer", ["by-stream", "balanced", "cost"])
@pytest.mark.parametrize("workers, batch", [(1, 64), (2, 1), (4, 64)])
def test_the_answer_is_the_sequential_one(optimizer, workers, batch):
    data = plugs()
    options = DgsOptions(optimizer=optimizer, gather=False)
    measured, answer = run(PLUGS, data, workers=workers, options=options, batch=batch)
    assert compare(answer_of(PLUGS, data), answer, OUTPUT).equal
    assert measured.events == data.events
    across = sum(len(stream) for stream in data.streams[2:])
    assert measured.counters["synchronizations"] >= across


def test_a_group_on_one_worker_does_not_wait_for_others():
    data = plugs()
    data = replace(data, streams=data.streams[:3])
    options = DgsOptions(optimizer="balanced", gather=False)
    measured, _ = run(PLUGS, data, workers=3, options=options)
    assert measured.counters["synchronizations"] == len(data.streams[2])
    assert measured.counters["parked"] == 0


def test_an_index_beyond_the_members_is_an_error_that_names_the_function():
    def beyond(own, members, event, out):
        out.emit(event.ts, 0, 0, members[len(members)].count, 0)

    across = replace(PLUGS.across[1], update=beyond, max_outputs=1)
    program = replace(PLUGS, across=(PLUGS.across[0], across))
    with pytest.raises(EngineCrashError, match="members has no such index"):
        run(program, plugs(200), workers=2)


def test_too_many_outputs_are_an_error_that_says_what_to_raise():
    def twice(own, members, event, out):
        for _ in range(100_000):
            out.emit(event.ts, 0, 0, 0, 0)

    across = replace(PLUGS.across[1], update=twice, outputs_per_member=0)
    program = replace(PLUGS, across=(PLUGS.across[0], across))
    with pytest.raises(EngineCrashError, match=r"of across: max_outputs, outputs_per_member"):
        run(program, plugs(200), workers=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_output_too_many_is_an_error_though_there_is_room_for_it(workers):
    def twice(own, members, event, out):
        for _ in range(5):
            out.emit(event.ts, 0, 0, 0, 0)

    across = replace(PLUGS.across[1], update=twice, max_outputs=4, outputs_per_member=0)
    program = replace(PLUGS, across=(PLUGS.across[0], across))
    ends = len(plugs(200).streams[3])
    with pytest.raises(EngineCrashError, match=f"update emitted {ends} records beyond"):
        run(program, plugs(200), workers=workers)


def test_a_function_that_does_not_compile_is_named():
    def first(own, members, event, out):
        out.emit(event.ts, 0, 0, members.first, 0)

    across = replace(PLUGS.across[1], update=first)
    with pytest.raises(EngineError, match="program plugs: across slice function first"):
        run(replace(PLUGS, across=(PLUGS.across[0], across)), plugs(200), workers=1)


def test_a_group_without_keys_is_refused_before_the_run():
    data = plugs(200)
    house = data.streams[2]
    wrong = replace(house, tag=np.full(len(house), HOUSE + len(KINDS) * (KEYS - 1), dtype=np.int32))
    streams = (*data.streams[:2], wrong, data.streams[3])
    with pytest.raises(EngineError, match=f"stream house: .*group {KEYS - 1}, but none"):
        run(PLUGS, replace(data, streams=streams), workers=2)
