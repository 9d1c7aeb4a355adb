"""Parameters of workloads: wrong values are refused with the name of the parameter."""

import pytest

from streamlab.workloads.model import ModelError
from streamlab.workloads.model.workload import LARGEST_WHOLE
from streamlab.workloads.registry import names, workload

HOSTILE = (
    *(float("nan"), float("inf"), float("-inf"), "nan", "inf", 1e308, -1e308),
    *(2**63, -(2**63) - 1, 10**400, "9" * 5000, True, [], {}, "", "x", "\ud800", "\x00"),
)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", float("nan"), float("inf")])
def test_number_that_is_not_finite_is_refused_with_the_parameters_name(value):
    with pytest.raises(ModelError, match="page_view_join, parameter skew: must be finite"):
        workload("page_view_join").params({"skew": value})
    with pytest.raises(ModelError, match="nyse_hedge, query parameter lower: must be finite"):
        workload("nyse_hedge").bound({"lower": value})


def test_whole_number_that_no_column_could_hold_is_refused():
    subject = workload("longest_tweet_per_hashtag")
    with pytest.raises(ModelError, match=f"wa_ms: must be at most {LARGEST_WHOLE}"):
        subject.bound({"wa_ms": 2**63})


def test_truth_value_is_no_number():
    with pytest.raises(ModelError, match="streams: expected int, got True"):
        workload("event_window").params({"streams": True})


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:20])
def test_any_value_is_taken_or_refused_with_its_name(name, value):
    subject = workload(name)
    for given, parameters in ((subject.params, subject.parameters), (subject.bound, subject.query)):
        for parameter in parameters:
            try:
                given({parameter: value})
            except ModelError as error:
                assert parameter in str(error), error
