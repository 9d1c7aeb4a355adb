"""Events across keys on the native core: who meets, what is refused, what fails."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.workloads.model.reference import answer_of
from tests.across import HOUSE, KINDS, OUTPUT, PLUGS
from tests.engines.multicore.dgs_programs import KEYS, plugs
from tests.engines.multicore.native_runs import run_native
from tests.engines.tasks import assert_equal


@pytest.mark.parametrize("optimizer", ["by-stream", "balanced", "cost"])
@pytest.mark.parametrize("workers, batch", [(1, 64), (2, 1), (4, 64)])
def test_the_answer_is_the_sequential_one(optimizer, workers, batch):
    data = plugs()
    how = {"workers": workers, "batch": batch, "optimizer": optimizer, "gather": False}
    measured, answer = run_native("dgs", PLUGS, data, **how)
    assert_equal(answer_of(PLUGS, data), answer, OUTPUT)
    across = sum(len(stream) for stream in data.streams[2:])
    assert measured.counters["synchronizations"] >= across


def test_a_group_on_one_worker_does_not_wait_for_others():
    data = plugs()
    data = replace(data, streams=data.streams[:3])
    how = {"workers": 3, "optimizer": "balanced", "gather": False}
    measured, _ = run_native("dgs", PLUGS, data, **how)
    assert measured.counters["synchronizations"] == len(data.streams[2])
    assert measured.counters["parked"] == 0


def with_slices(**changes):
    """Return the program with other functions or bounds for slices."""
    house, slices = PLUGS.across
    return replace(PLUGS, across=(house, replace(slices, **changes)))


def test_an_index_beyond_the_members_is_an_error_that_names_the_function():
    def beyond(own, members, event, out):
        out.emit(event.ts, 0, 0, members[len(members)].count, 0)

    program = with_slices(update=beyond, max_outputs=1)
    with pytest.raises(EngineCrashError, match="members has no such index"):
        run_native("dgs", program, plugs(200), workers=2)


def test_too_many_outputs_are_an_error_that_says_what_to_raise():
    def twice(own, members, event, out):
        for _ in range(100_000):
            out.emit(event.ts, 0, 0, 0, 0)

    program = with_slices(update=twice, outputs_per_member=0)
    with pytest.raises(EngineCrashError, match=r"of across: max_outputs, outputs_per_member"):
        run_native("dgs", program, plugs(200))


@pytest.mark.parametrize("workers", [1, 2])
def test_one_output_too_many_is_an_error_though_there_is_room_for_it(workers):
    def twice(own, members, event, out):
        for _ in range(5):
            out.emit(event.ts, 0, 0, 0, 0)

    program = with_slices(update=twice, max_outputs=4, outputs_per_member=0)
    ends = len(plugs(200).streams[3])
    with pytest.raises(EngineCrashError, match=f"update emitted {ends} records beyond"):
        run_native("dgs", program, plugs(200), workers=workers)


def test_a_function_that_does_not_compile_is_named():
    def first(own, members, event, out):
        out.emit(event.ts, 0, 0, members.first, 0)

    with pytest.raises(EngineError, match="program plugs: across slice function first"):
        run_native("dgs", with_slices(update=first), plugs(200))


def test_a_group_without_keys_is_refused_before_the_run():
    data = plugs(200)
    house = data.streams[2]
    wrong = replace(house, tag=np.full(len(house), HOUSE + len(KINDS) * (KEYS - 1), dtype=np.int32))
    streams = (*data.streams[:2], wrong, data.streams[3])
    with pytest.raises(EngineError, match=f"stream stream-2: .*group {KEYS - 1}, but none"):
        run_native("dgs", PLUGS, replace(data, streams=streams), workers=2)
