"""Parametric pipelines: the oracle against loops, and the input."""

from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Input
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.parametric.settings import KEY_SPACE, MASK, MATRIX
from tests.examples import examples
from tests.workloads.suite.streams import generated, in_order, rows

PARAMETRIC = workload("parametric")


@settings(deadline=None, max_examples=examples(30))
@given(inputs(PARAMETRIC.program, values=st.integers(-3, 3) | st.integers(-(2**40), 2**40)))
def test_a_state_is_the_sum_of_the_records_of_its_key(data: Input):
    """A loop over the records, word by word, for one operator with 3 words of state."""
    chosen = PARAMETRIC.bound({"operators": "ps", "state_bytes": "24", "iterations": "2"})
    expected, states = [], {}
    for ts, _, _, payload in in_order(data):
        words = states.setdefault(payload["key"], [0, 0, 0])
        for k in range(3):
            words[k] = (words[k] + (2 * k + 1) * (payload["x0"] & MASK)) & MASK
        a, b = sum(words) & MASK, payload["id"] & MASK
        for _ in range(2):
            a, b = (
                (MATRIX[0][0] * a + MATRIX[0][1] * b) & MASK,
                (MATRIX[1][0] * a + MATRIX[1][1] * b) & MASK,
            )
        expected.append((ts, payload["id"], payload["key"], (a + b) & MASK))
    assert rows(chosen, chosen.oracle(data)) == expected


def test_no_product_of_words_leaves_63_bits():
    assert max(max(row) for row in MATRIX) * MASK * 2 < 2**63
    (a, b), (c, d) = MATRIX
    assert (a * d - b * c) % 2 == 1, "the matrix can be inverted, so that nothing is lost"


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.99])
def test_a_selectivity_below_1_keeps_that_share(share: float):
    data = generated(PARAMETRIC, {}, 200_000, seed=1)
    chosen = PARAMETRIC.bound({"operators": "sl,sl", "selectivity": f"{share},1"})
    assert len(chosen.oracle(data)["ts"]) / 200_000 == pytest.approx(share, rel=0.05)
    twice = PARAMETRIC.bound({"operators": "sl,sl", "selectivity": f"{share}"})
    assert len(twice.oracle(data)["ts"]) / 200_000 == pytest.approx(share * share, rel=0.15)


def test_copies_follow_each_other_and_differ_in_their_ids():
    chosen = PARAMETRIC.bound({"operators": "sl", "selectivity": "3"})
    found = chosen.oracle(generated(chosen, {}, 100, seed=1))
    assert found["id"].tolist() == list(range(300))
    assert chosen.program.stages[0].max_outputs == 3


def test_sizes_are_those_requested():
    chosen = PARAMETRIC.bound(
        {"operators": "sl,ps,sf", "tuple_bytes": 128, "state_bytes": "8,256,1024"}
    )
    stages = chosen.program.stages
    assert [stage.output.itemsize for stage in stages] == [128] * 3
    assert [stage.state and stage.state.itemsize for stage in stages] == [None, 256, 1024]


def test_ranges_of_keys_are_partitions_of_equal_width():
    stage = PARAMETRIC.bound({"operators": "ps", "partitions": 4}).program.stages[0]
    assert stage.bounds == (KEY_SPACE // 4, KEY_SPACE // 2, 3 * KEY_SPACE // 4)
    hashed = PARAMETRIC.bound({"operators": "ps", "partitioning": "hash"}).program.stages[0]
    assert (hashed.bounds, hashed.partitions) == (None, 100)


@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 100.0])
def test_keys_follow_the_normal_distribution_within_the_space_of_keys(sigma: float):
    data = generated(PARAMETRIC, {"sigma": sigma, "keys": 1000}, 200_000, seed=1)
    key = data.streams[0].payload["key"]
    assert key.min() >= 0 and key.max() < KEY_SPACE
    shares = np.histogram(key, bins=20, range=(0, KEY_SPACE))[0] / len(key)

    def below(x: float) -> float:
        return erf(x / sigma / sqrt(2))

    edges = np.linspace(-1, 1, 21)
    expected = np.diff([below(x) for x in edges]) / (below(1) - below(-1))
    assert np.abs(shares - expected).max() < 0.005


@pytest.mark.parametrize("params", [{"keys": 1}, {"keys": 2, "sigma": 0.001}, {"keys": KEY_SPACE}])
def test_there_may_be_one_key_and_as_many_as_the_space_has(params: dict[str, Any]):
    data = generated(PARAMETRIC, params, 1000, seed=1)
    different = len(set(data.streams[0].payload["key"].tolist()))
    assert different <= params["keys"] and (different > 1) == (params["keys"] > 1)
