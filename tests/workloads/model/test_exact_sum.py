"""The exact sum: `math.fsum` for any order and any grouping, in plain Python and compiled."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamlab.workloads.model import exact_sum

Field = np.ndarray[tuple[int], np.dtype[np.int64]]

# As many as are drawn cannot leave the range of floats, where `math.fsum` raises.
FLOATS = st.floats(-(2.0**1016), 2.0**1016, allow_nan=False) | st.floats(-100, 100)
NUMBERS = st.lists(FLOATS, max_size=30)


def field() -> Field:
    return np.zeros(exact_sum.EXACT_SUM, dtype=np.int64)


def summed(numbers: Sequence[float], add: Any = exact_sum.add_exactly) -> Field:
    made = field()
    for number in numbers:
        add(made, number)
    return made


def joined(parts: Sequence[Field]) -> Field:
    """Return the sum of parts, by a tree of joins."""
    if len(parts) == 1:
        return parts[0]
    made = field()
    middle = len(parts) // 2
    exact_sum.join_sums(joined(parts[:middle]), joined(parts[middle:]), made)
    return made


@given(numbers=NUMBERS)
@example(numbers=[5e-324, -5e-324, 2.0**-1022, 5e-324])
@example(numbers=[1.0, 2.0**-53])
@example(numbers=[1.0 + 2.0**-52, 2.0**-53])
@example(numbers=[1.0, 2.0**-53, 2.0**-300])
@example(numbers=[-1.0, -(2.0**-53), 2.0**-300])
@example(numbers=[2.0**1000, 1.0, -(2.0**1000)])
@example(numbers=[0.1] * 10)
def test_the_total_is_the_sum_rounded_once(numbers: list[float]):
    assert exact_sum.round_sum(summed(numbers)) == math.fsum(numbers)


@given(numbers=NUMBERS, cuts=st.lists(st.integers(0, 30), max_size=5), seed=st.integers(0, 99))
def test_any_order_and_grouping_makes_the_same_field(
    numbers: list[float], cuts: list[int], seed: int
):
    shuffled = random.Random(seed).sample(numbers, len(numbers))
    ends = sorted(min(cut, len(numbers)) for cut in cuts)
    parts = [
        summed(shuffled[begin:end])
        for begin, end in zip([0, *ends], [*ends, len(numbers)], strict=True)
    ]
    assert joined(parts).tolist() == summed(numbers).tolist()


def test_many_numbers_of_one_place_do_not_carry_over():
    made = field()
    largest = 2.0**53 - 1
    exact_sum.add_exactly(made, largest)
    many = made * 2**30  # as if it had been added so often
    assert exact_sum.round_sum(many) == largest * 2.0**30
    assert exact_sum.round_sum(-many) == -largest * 2.0**30


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], 0.0),
        ([-0.0], 0.0),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1e308], -math.inf),
        ([1.7976931348623157e308] * 2, math.inf),
        ([-1.7976931348623157e308, -(2.0**970)], -math.inf),
        ([1.7976931348623157e308, 2.0**969], 1.7976931348623157e308),
    ],
)
def test_sums_beyond_floats_are_infinite(numbers: list[float], expected: float):
    found = exact_sum.round_sum(summed(numbers))
    assert found == expected
    assert not math.copysign(1.0, found) < 0 or expected < 0


@pytest.mark.parametrize("numbers", [[math.nan], [math.inf, -math.inf], [math.nan, math.inf]])
def test_numbers_without_a_sum_give_nan(numbers: list[float]):
    assert math.isnan(exact_sum.round_sum(summed(numbers)))


def test_a_cleared_field_is_the_empty_sum():
    made = summed([1.5, math.inf])
    exact_sum.clear_sum(made)
    assert not made.any()


def test_compiled_code_does_the_same():
    add, total = numba.njit(exact_sum.add_exactly), numba.njit(exact_sum.round_sum)
    rng = random.Random(1)
    for _ in range(200):
        numbers = [
            math.ldexp(rng.uniform(-1, 1), rng.choice((rng.randint(-1074, 1010), 3)))
            for _ in range(rng.randint(0, 9))
        ]
        made = summed(numbers, add)
        assert made.tolist() == summed(numbers).tolist()
        assert total(made) == exact_sum.round_sum(made) == math.fsum(numbers)
    assert total(summed([1.7976931348623157e308] * 2)) == math.inf
    assert math.isnan(total(summed([math.inf, -math.inf])))
