import numpy as np
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
@given(begin=st.integers(0, 700), length=st.integers(0, 300), seed=st.integers(-9, 2**64))
def test_any_range_of_rows_can_be_made_alone(name: str, begin: int, length: int, seed: int):
    chosen = workload(name)
    params = chosen.params({PERIODS[name]: 3})
    specs = chosen.streams(params, 2500)
    for index in range(len(specs)):
        whole = chosen.generate(params, seed, specs, index, 0, 1000)
        part = chosen.generate(params, seed, specs, index, begin, begin + length)
        assert list(part) == list(whole)
        for column, values in part.items():
            assert values.dtype == whole[column].dtype
            assert values.tolist() == whole[column][begin : begin + length].tolist()


@pytest.mark.parametrize("name", PERIODS)
def test_streams_have_the_declared_columns_and_sizes(name: str):
    chosen = workload(name)
    params = chosen.params({PERIODS[name]: 10, "streams": 3})
    specs = chosen.streams(params, 1000)
    assert 1000 <= sum(spec.events for spec in specs) <= 1003
    for index, spec in enumerate(specs):
        columns = chosen.generate(params, 1, specs, index, 0, spec.events)
        dtypes = {column: values.dtype for column, values in columns.items()}
        assert dtypes.pop("ts") == np.int64
        assert dtypes.pop("tag", np.int32) == np.int32
        assert dtypes == {field: spec.fields[field] for field in spec.fields.names or ()}
        assert np.all(np.diff(columns["ts"]) >= 0)


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


@pytest.mark.parametrize("name", PERIODS)
def test_seeds_make_different_data(name: str):
    chosen = workload(name)
    params = chosen.params({})
    specs = chosen.streams(params, 1000)
    one, two = (chosen.generate(params, seed, specs, 0, 0, 500) for seed in (1, 2))
    assert any(one[column].tolist() != two[column].tolist() for column in one)


@pytest.mark.parametrize(("name", "key"), [("page_view_join", "pages"), ("keyed_counter", "keys")])
def test_one_key_needs_no_tag_and_several_do(name: str, key: str):
    chosen = workload(name)
    for keys, tagged in ((1, False), (5, True)):
        params = chosen.params({key: keys})
        specs = chosen.streams(params, 100)
        for index in range(len(specs)):
            columns = chosen.generate(params, 1, specs, index, 0, specs[index].events)
            assert ("tag" in columns) is tagged


def test_known_rows_stay_what_they_are():
    """The generator's version must be raised when this changes: catalogues rely on it."""
    chosen = workload("page_view_join")
    params = chosen.params({"skew": 1.2, "pages": 50})
    specs = chosen.streams(params, 100_000)
    view = chosen.generate(params, 42, specs, 1, 1000, 1004)
    update = chosen.generate(params, 42, specs, 2, 0, 3)
    assert {name: values.tolist() for name, values in view.items()} == KNOWN_VIEW
    assert {name: values.tolist() for name, values in update.items()} == KNOWN_UPDATE


KNOWN_VIEW = {
    "ts": [1000, 1001, 1002, 1003],
    "tag": [2, 48, 16, 2],
    "user": [24838, 5193, 96914, 39816],
}
KNOWN_UPDATE = {"ts": [9999, 19999, 29999], "tag": [1, 3, 5], "meta": [46912, 79881, 35757]}


@given(st.integers(0, 10**6), st.integers(1, 64), st.integers(1, 10**5))
def test_sizes_are_the_smallest_that_reach_the_events_asked_for(
    events: int, streams: int, period: int
):
    def total(rows: int) -> int:
        return streams * rows + rows // period

    found = rows_per_stream(events, streams, period)
    assert total(found) >= events
    assert found == 0 or total(found - 1) < events
