import pytest

from streamlab.engines.multicore.oplus.elastic.controller import make_controller
from tests.engines.multicore.elastic.simulation import SimulatedJoin, seen, steered

COMPARISON_S = 10e-9
PINNED = 50_000
SHARE = PINNED * COMPARISON_S
"""Work of a tuple per instance-second: windows stay as they are, so that load follows the rate."""


def changed(instances, factor, **options):
    """Return all changes from 70 % of what the instances sustain to `factor` of it, at 10 s."""

    def rate(t):
        return instances / SHARE * (0.7 if t < 10 else factor)

    join = SimulatedJoin(
        rate=rate,
        instances=instances,
        maximum=100,
        comparison_s=COMPARISON_S,
        tuple_s=1e-10,
        window_s=60,
        pinned=PINNED,
    )
    steered(join, {"kind": "thresholds", **options}, 25)
    assert all(10 < at < 11 for at, *_ in join.calls[:1])
    return [after for _, _, after in join.calls]


@pytest.mark.parametrize(
    ("before", "after"), [(1, 2), (5, 9), (9, 16), (18, 31), (30, 52), (40, 69)]
)
def test_120_percent_give_the_numbers_of_table_iv_in_one_step(before, after):
    assert changed(before, 1.2) == [after]


@pytest.mark.parametrize(
    ("before", "after"), [(5, 3), (9, 4), (18, 8), (30, 13), (40, 18), (60, 26), (70, 31)]
)
def test_30_percent_leave_the_fewest_instances_below_the_target(before, after):
    assert changed(before, 0.3) == [after]


@pytest.mark.parametrize(
    ("before", "after"), [(5, 2), (18, 7), (30, 12), (40, 17), (60, 25), (70, 30)]
)
def test_rounded_as_in_table_iv_30_percent_give_its_numbers(before, after):
    assert changed(before, 0.3, removal="table") == [after]


def test_one_instance_is_never_removed():
    assert changed(1, 0.3) == []


def test_loads_between_the_thresholds_change_nothing():
    for factor in (0.46, 0.6, 0.89):
        assert changed(10, factor) == []


def test_bounds_hold():
    assert changed(10, 1.2, max=12) == [12]
    assert changed(10, 0.3, min=7) == [7]


def loaded(busy, offered=100.0, processed=100.0):
    """Return an observation of a tenth of a second."""
    return seen(
        span_s=0.1,
        instances=len(busy),
        busy=busy,
        offered_eps=None if offered is None else (offered,),
        processed_eps=(processed,),
    )


def decided(*looks, **options):
    controller, _ = make_controller({"kind": "thresholds", **options})
    found = [controller.decide(look) for look in looks]
    return [None if decision is None else decision.instances for decision in found]


def test_a_peak_shorter_than_the_confirmation_is_not_followed():
    high, low = loaded((1.0, 1.0)), loaded((0.6, 0.6))
    assert decided(high, low, low, low, low, high, low, low, low) == [None] * 9
    assert decided(high, high, high, high) == [None, None, None, 3]
    assert decided(high, confirm_ms=0) == [3]


def test_the_look_that_crosses_does_not_count():
    assert decided(loaded((0.95,)), *[loaded((1.0,), offered=230.0)] * 3) == [None, None, None, 4]


def test_a_measurement_ends_with_the_number_of_instances():
    high = loaded((1.0, 1.0))
    assert decided(high, high, high, loaded((1.0,) * 3), high, high, high) == [None] * 7


def test_without_counted_arrivals_the_busy_share_remains():
    assert decided(loaded((1.0,) * 30, offered=None), confirm_ms=0) == [43]


def test_instances_that_are_stuck_do_not_ask_for_more_than_their_busy_share():
    assert decided(loaded((1.0,) * 7, offered=5_000.0, processed=0.0), confirm_ms=0) == [11]


def test_a_load_just_at_the_target_is_not_below_it():
    # 30 busy instances of 100: 21 / 30 is 70 %, so 31 stay.
    assert decided(loaded((0.21,) * 100), confirm_ms=0) == [31]
