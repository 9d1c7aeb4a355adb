import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.datasets.cadence import rows_per_stream
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated, in_order

PERIODS = {
    "event_window": "values_per_barrier",
    "fraud_detection": "transactions_per_rule",
    "keyed_counter": "increments_per_reset",
    "page_view_join": "views_per_update",
}


@pytest.mark.parametrize("name", PERIODS)
def test_between_two_syncs_every_stream_has_exactly_one_period(name: str):
    data = generated(workload(name), {PERIODS[name]: 7, "streams": 2}, 200, seed=3)
    since, syncs = 0, 0
    for _, kind, _, _ in in_order(data):
        if kind == 1:
            assert since == 14
            since, syncs = 0, syncs + 1
        else:
            since += 1
    assert syncs == 200 // 15


@pytest.mark.parametrize(("name", "key"), [("page_view_join", "pages"), ("keyed_counter", "keys")])
def test_one_key_needs_no_tag_and_several_do(name: str, key: str):
    chosen = workload(name)
    for keys, tagged in ((1, False), (5, True)):
        params = chosen.params({key: keys})
        specs = chosen.streams(params, 100)
        for index in range(len(specs)):
            columns = chosen.generate(params, 1, specs, index, 0, specs[index].events)
            assert ("tag" in columns) is tagged


@given(st.integers(0, 10**6), st.integers(1, 64), st.integers(1, 10**5))
def test_sizes_are_the_smallest_that_reach_the_events_asked_for(
    events: int, streams: int, period: int
):
    def total(rows: int) -> int:
        return streams * rows + rows // period

    found = rows_per_stream(events, streams, period)
    assert total(found) >= events
    assert found == 0 or total(found - 1) < events
