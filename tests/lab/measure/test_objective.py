"""Latency objectives such as `p99<=50ms`."""

import numpy as np
import pytest

from streamlab.engines.protocol import Histogram
from streamlab.lab.measure.latency import Objective, parse_objective, percentiles


def of(values_ns):
    values, counts = np.unique(np.array(values_ns, dtype=np.int64), return_counts=True)
    return percentiles(Histogram(values_ns=values, counts=counts, definition="a test"))


@pytest.mark.parametrize(
    ("text", "percentile", "bound_ns"),
    [
        ("p99 <= 10ms", "p99", 10_000_000),
        ("p99.9<=1.5us", "p99.9", 1_500),
        (" p50 <= 20 ns ", "p50", 20),
        ("max <= 2s", "max", 2_000_000_000),
        ("p90 <= 0.1s", "p90", 100_000_000),
    ],
)
def test_an_objective_is_a_percentile_and_a_bound(text, percentile, bound_ns):
    assert parse_objective(text) == Objective(percentile=percentile, bound_ns=bound_ns)


@pytest.mark.parametrize(
    "text", ["", "p99", "p99 <= 10", "p99 >= 1ms", "p95 <= 1ms", "p99 <= -1ms"]
)
def test_other_objectives_are_refused_with_an_example(text):
    with pytest.raises(
        ValueError, match=r"not a latency objective; expected .* e\.g\. `p99 <= 10ms`"
    ):
        parse_objective(text)


def test_a_bound_of_nothing_is_refused():
    with pytest.raises(ValueError, match="has a bound of 0"):
        parse_objective("p99 <= 0ms")


def test_an_objective_holds_up_to_its_bound_and_not_above():
    found = of(range(1, 1_001))
    assert parse_objective("p99 <= 990ns").holds(found) is True
    assert parse_objective("p99 <= 989ns").holds(found) is False
    assert parse_objective("max <= 1us").holds(found) is True


def test_with_too_few_samples_an_objective_neither_holds_nor_fails():
    assert parse_objective("p99 <= 1s").holds(of(range(999))) is None
    assert parse_objective("p99.9 <= 1s").holds(of(range(9_999))) is None
    assert parse_objective("p99.9 <= 1s").holds(of(range(10_000))) is True
    assert parse_objective("max <= 1s").holds(of([])) is None
