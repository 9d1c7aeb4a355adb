"""High-mobility fraud: answers found by hand, and the movement of generated phones."""

from streamlab.workloads.model import Input
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.high_mobility_fraud.schema import CALL, KIND
from tests.workloads.suite.retail_inputs import made
from tests.workloads.suite.streams import agreed, generated

QUERY = {"area": 1, "most_mps": 100.0, "window_ms": 1000}
FRAUD = workload("high_mobility_fraud").bound(QUERY)


def calls(*records: tuple[int, ...]) -> Input:
    """One stream of calls: (ts, area, caller, its x, callee, its x); phones move along a line."""
    names = ("area", "caller", "caller_x", "callee", "callee_x")
    fields = [dict(zip(names, values, strict=True)) for _, *values in records]
    return made(KIND, CALL, ([ts for ts, *_ in records], fields))


def test_a_window_is_counted_once_a_later_one_has_a_case():
    data = calls(
        (0, 1, 7, 0, 8, 0),
        (500, 1, 7, 40, 8, 60),  # 80 and 120 m/s: the second is a case
        (900, 1, 9, 0, 7, 1000),  # phone 7 again, as callee: 2,400 m/s
        (1000, 0, 7, 0, 8, 0),  # another area
        (2500, 1, 8, 500, 7, 1000),  # 220 m/s in the window from 2000 on
    )
    assert agreed(FRAUD, data) == [(2500, 0, 2)]


def test_a_speed_at_the_limit_is_no_case_and_a_jump_within_a_millisecond_is():
    still = calls((0, 1, 7, 0, 8, 0), (1000, 1, 7, 100, 8, 0), (5000, 1, 9, 0, 10, 0))
    assert agreed(FRAUD, still) == []
    jumps = calls((0, 1, 7, 0, 7, 1), (9000, 1, 7, 2, 7, 3))
    assert agreed(FRAUD, jumps) == [(9000, 0, 1)]


def test_only_cloned_phones_travel_fast():
    chosen = workload("high_mobility_fraud")
    params = {"phones": 50, "calls_per_s": 1, "areas": 1}
    bound = chosen.bound({"area": 0, "most_mps": 10.0, "window_ms": 60_000})
    for cloned_per_1000, expected in ((0, False), (10, True)):
        data = generated(chosen, {**params, "cloned_per_1000": cloned_per_1000}, 5000, 1)
        assert bool(len(bound.oracle(data)["ts"])) is expected
