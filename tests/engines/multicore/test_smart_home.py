"""Predictions for homes on the native core: what moves between workers."""

from streamlab.workloads.registry import workload
from tests.engines.multicore.dgs_programs import generated
from tests.engines.multicore.native_runs import run_native

SMART_HOME = workload("smart_home")
PLUGS_OF_A_HOUSE = 16
RECORD_BYTES = 8 + 4 + 4
"""Time, tag and load."""


def homes(ends, houses=2, events=6_000):
    return generated("smart_home", events, **SMART_HOME.small | {"houses": houses, "ends": ends})


def run(data, **how):
    how = {"batch": 64, "gather": False, **how}
    measured, answer = run_native("dgs", SMART_HOME.program, data, **how)
    return measured.counters, answer


def test_slices_that_end_for_all_move_the_states_of_one_worker_to_the_other_and_back():
    data = homes("all")
    counters, _ = run(data, workers=2)
    state_bytes = -(-SMART_HOME.program.states[0].dtype.itemsize // 8) * 8
    ends = len(data.streams[-1])
    assert counters["state_bytes_moved"] == 2 * ends * PLUGS_OF_A_HOUSE * state_bytes
    assert counters["record_bytes_moved"] == ends * (8 + 4)
    assert counters["record_bytes"] == (data.events - ends) * RECORD_BYTES + ends * (8 + 4)


def test_slices_that_end_house_by_house_move_no_states():
    data = homes("house")
    counters, _ = run(data, workers=2)
    assert counters["synchronizations"] == len(data.streams[-1])
    assert counters["state_bytes_moved"] == 0
    # Both look at all ends for those of their houses.
    assert counters["record_bytes_moved"] == len(data.streams[-1]) * (8 + 4)


def test_nothing_moves_with_one_worker():
    counters, _ = run(homes("all"), workers=1)
    assert (counters["state_bytes_moved"], counters["record_bytes_moved"]) == (0, 0)


def test_a_barrier_moves_the_states_of_the_other_worker_and_back():
    found = workload("event_window")
    data = generated("event_window", 2_000, values_per_barrier=100)
    measured, _ = run_native("dgs", found.program, data, workers=2, gather=False)
    state_bytes = -(-found.program.states[0].dtype.itemsize // 8) * 8
    assert measured.counters["state_bytes_moved"] == 2 * len(data.streams[-1]) * state_bytes
