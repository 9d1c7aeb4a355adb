import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.datasets.random import below, draw, draw_at, zipf, zipf_thresholds


def test_bits_are_those_of_splitmix64():
    """Reference: the scalar algorithm, from the same start."""
    mask = 2**64 - 1

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    gamma = 0x9E3779B97F4A7C15
    start = mix(((mix((mix(7 + gamma) ^ 2) + gamma & mask) ^ 1) + gamma) & mask)
    expected = [mix((start + (row + 1) * gamma) & mask) for row in range(5)]
    assert draw(7, 2, 1, 0, 5).tolist() == expected


@given(st.integers(), st.integers(0, 100), st.integers(0, 5))
def test_streams_lanes_and_seeds_are_unlike(seed: int, stream: int, lane: int):
    base = draw(seed, stream, lane, 0, 8).tolist()
    assert base != draw(seed + 1, stream, lane, 0, 8).tolist()
    assert base != draw(seed, stream + 1, lane, 0, 8).tolist()
    assert base != draw(seed, stream, lane + 1, 0, 8).tolist()


@pytest.mark.parametrize("limit", [1, 2, 10, 1000])
def test_every_number_below_the_limit_is_about_equally_likely(limit: int):
    counts = np.bincount(below(draw(1, 0, 0, 0, 200_000), limit), minlength=limit)
    assert len(counts) == limit
    expected = 200_000 / limit
    assert np.all(np.abs(counts - expected) < 6 * np.sqrt(expected) + 1)


def test_limits_beyond_32_bits_are_refused():
    with pytest.raises(ValueError, match=r"2\^32"):
        below(draw(1, 0, 0, 0, 1), 2**32 + 1)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_keys_follow_the_zipf_law(exponent: float):
    counts = np.bincount(zipf(draw(3, 0, 0, 0, 300_000), 20, exponent), minlength=20)
    weights = np.arange(1, 21) ** -exponent
    expected = 300_000 * weights / weights.sum()
    assert np.all(np.abs(counts - expected) < 6 * np.sqrt(expected) + 1)


def test_one_key_takes_everything():
    assert set(zipf(draw(1, 0, 0, 0, 100), 1, 1.5).tolist()) == {0}


def test_thresholds_ascend_to_below_one():
    bounds = zipf_thresholds(1000, 3.0)
    assert len(bounds) == 999
    assert np.all(bounds[1:] >= bounds[:-1])
    assert int(bounds[-1]) < 2**63


@given(st.integers(), st.lists(st.integers(0, 500)))
def test_rows_in_any_order_draw_what_they_draw_in_a_range(seed: int, rows: list[int]):
    whole = draw(seed, 3, 1, 0, 501)
    drawn = draw_at(seed, 3, 1, np.array(rows, dtype=np.int64))
    assert drawn.tolist() == [whole[row] for row in rows]


def test_rows_before_the_first_are_rows_too():
    rows = np.array([-3, -2, -1, 0], dtype=np.int64)
    assert draw_at(7, 2, 1, rows)[3] == draw(7, 2, 1, 0, 1)[0]
    assert len(set(draw_at(7, 2, 1, rows).tolist())) == 4
    assert rows.tolist() == [-3, -2, -1, 0]
