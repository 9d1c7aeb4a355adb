import numpy as np
import pytest

from streamlab.lab.gate.decision import Pair
from streamlab.lab.gate.metrics import METRICS
from streamlab.lab.gate.report_notes import describe_outputs, outputs_needed


@pytest.mark.parametrize(("quantile", "needed"), [(0.5, 200), (0.99, 10_000), (0.999, 100_000)])
def test_with_as_many_outputs_chance_moves_the_tail_by_a_tenth(quantile, needed):
    assert outputs_needed(quantile) == needed
    rng = np.random.default_rng(1)
    beyond = rng.binomial(needed, 1 - quantile, 4000)
    # The factor is that of a share near a half.
    expected = 0.1 * np.sqrt(quantile)
    assert beyond.std() / beyond.mean() == pytest.approx(expected, rel=0.05)


def told(*, outputs, offered=1000.0):
    trial = {"latency_count": outputs, "offered_eps": offered}
    pair = Pair(old=[trial], new=[{**trial, "latency_count": outputs + 1}])
    return list(describe_outputs({"a/cell": pair}, [METRICS["wall"], METRICS["p99"]]))


def test_what_a_quantile_needs_is_stated_with_the_remedy():
    (words,) = told(outputs=2500)
    assert "a/cell: p99 needs 10,000 outputs" in words and "a trial has 2,500" in words
    assert words.endswith("increase window_s or the rate 4 times")
    (words,) = told(outputs=10_000)
    assert words.endswith("a trial has 10,000")
    assert told(outputs=2500, offered=None) == []
