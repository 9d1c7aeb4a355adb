"""Each oracle equals a loop over the events, one by one, with a dictionary or two."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.model import Input
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import in_order, inputs, rows

EVENT_WINDOW = workload("event_window")
FRAUD_DETECTION = workload("fraud_detection")
PAGE_VIEW_JOIN = workload("page_view_join")
KEYED_COUNTER = workload("keyed_counter")


@given(inputs(EVENT_WINDOW, 1, st.integers(-1000, 1000)))
def test_event_window_sums_values_between_barriers(data: Input):
    expected, total = [], 0
    for ts, kind, _, payload in in_order(data):
        if kind == 0:
            total += payload["value"]
        else:
            expected.append((ts, total))
            total = 0
    assert rows(EVENT_WINDOW, EVENT_WINDOW.oracle(data)) == expected


@given(inputs(FRAUD_DETECTION, 1, st.integers(-2, 3).map(lambda x: x * 500)))
def test_fraud_detection_checks_against_the_model_in_force(data: Input):
    expected, total, model = [], 0, 0
    for ts, kind, _, payload in in_order(data):
        if kind == 0:
            if payload["value"] % 1000 == model:
                expected.append((ts, 0, payload["value"]))
            total += payload["value"]
        else:
            expected.append((ts, 1, total))
            model = (total + payload["value"]) % 1000
            total = 0
    assert rows(FRAUD_DETECTION, FRAUD_DETECTION.oracle(data)) == expected


@given(inputs(PAGE_VIEW_JOIN, 3, st.integers(1, 99)))
def test_page_view_join_gives_the_metadata_before_the_event(data: Input):
    expected, meta = [], defaultdict(int)
    for ts, kind, page, payload in in_order(data):
        user = payload["user"] if kind == 0 else -1
        expected.append((ts, kind, page, user, meta[page]))
        if kind == 1:
            meta[page] = payload["meta"]
    assert rows(PAGE_VIEW_JOIN, PAGE_VIEW_JOIN.oracle(data)) == expected


@given(inputs(KEYED_COUNTER, 3, st.integers()))
def test_keyed_counter_counts_since_the_last_reset_of_the_key(data: Input):
    expected, count = [], defaultdict(int)
    for ts, kind, key, _ in in_order(data):
        if kind == 0:
            count[key] += 1
        else:
            expected.append((ts, key, count.pop(key, 0)))
    assert rows(KEYED_COUNTER, KEYED_COUNTER.oracle(data)) == expected
