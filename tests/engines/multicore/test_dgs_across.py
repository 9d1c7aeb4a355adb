"""Events across keys on the native core: who meets, what is refused, what fails."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.across import HOUSE, KINDS, OUTPUT, PLUGS
from tests.engines.multicore.dgs_programs import KEYS, generated, plugs
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


def test_too_many_outputs_are_an_error_that_names_the_limit_to_raise():
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


# ---- What moves between workers ----------------------------------------------------------------

SMART_HOME = workload("smart_home")
PLUGS_OF_A_HOUSE = 16
RECORD_BYTES = 8 + 4 + 4
"""Time, tag and load."""


def homes(ends, houses=2, events=6_000):
    return generated("smart_home", events, **SMART_HOME.small | {"houses": houses, "ends": ends})


def run_homes(data, **how):
    how = {"batch": 64, "gather": False, **how}
    measured, answer = run_native("dgs", SMART_HOME.program, data, **how)
    return measured.counters, answer


def test_slices_that_end_for_all_move_the_states_of_one_worker_to_the_other_and_back():
    data = homes("all")
    counters, _ = run_homes(data, workers=2)
    state_bytes = -(-SMART_HOME.program.states[0].dtype.itemsize // 8) * 8
    ends = len(data.streams[-1])
    assert counters["state_bytes_moved"] == 2 * ends * PLUGS_OF_A_HOUSE * state_bytes
    assert counters["record_bytes_moved"] == ends * (8 + 4)
    assert counters["record_bytes"] == (data.events - ends) * RECORD_BYTES + ends * (8 + 4)


def test_slices_that_end_house_by_house_move_no_states():
    data = homes("house")
    counters, _ = run_homes(data, workers=2)
    assert counters["synchronizations"] == len(data.streams[-1])
    assert counters["state_bytes_moved"] == 0
    # Both look at all ends for those of their houses.
    assert counters["record_bytes_moved"] == len(data.streams[-1]) * (8 + 4)


def test_nothing_moves_with_one_worker():
    counters, _ = run_homes(homes("all"), workers=1)
    assert (counters["state_bytes_moved"], counters["record_bytes_moved"]) == (0, 0)


def test_a_barrier_moves_the_states_of_the_other_worker_and_back():
    subject = workload("event_window")
    data = generated("event_window", 2_000, values_per_barrier=100)
    measured, _ = run_native("dgs", subject.program, data, workers=2, gather=False)
    state_bytes = -(-subject.program.states[0].dtype.itemsize // 8) * 8
    assert measured.counters["state_bytes_moved"] == 2 * len(data.streams[-1]) * state_bytes
