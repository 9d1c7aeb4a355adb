"""A, A+ and J as constructions on O+, against windows and pairs by definition."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Window
from streamlab.workloads.model.operators.aggregates import aggregate, aggregate_plus, equi_join
from streamlab.workloads.model.operators.key_buckets import bucket_of, hash_key
from streamlab.workloads.model.operators.program import MULTI, SINGLE
from tests.workloads.model import naive
from tests.workloads.model.naive import TOTALS
from tests.workloads.model.queries import PAIRS, rows, splits

STATE = np.dtype([("count", np.int64), ("total", np.int64)])


def reduce(w: Any, t: Any) -> None:
    w.count += 1
    w.total += t.value


def result(w: Any, out: Any) -> None:
    out.emit(w.key, w.count, w.total)


@settings(deadline=None)
@given(st.data(), naive.shapes(MULTI))
def test_an_aggregate_reduces_and_forwards_by_one_key_or_several(data, window):
    streams, ordered, until = data.draw(naive.inputs(1))
    end = naive.watermark(ordered, until)
    given_input = naive.input_of(streams, 1, until)
    (source,) = naive.input_types(1)
    common: dict[str, Any] = {
        "name": "a",
        "source": source,
        "window": window,
        "reduce": reduce,
        "result": result,
        "state": STATE,
        "output": TOTALS,
    }
    how = splits(data.draw)
    plus = naive.query(aggregate_plus(keys=naive.all_keys, **common))
    assert rows(plus, given_input, **how) == naive.totals(ordered, window, end)
    by_value = [t._replace(keys=(t.value,)) for t in ordered]
    single = naive.query(aggregate(key=lambda t: t.value, **common))
    assert rows(single, given_input, **how) == naive.totals(by_value, window, end)


@settings(deadline=None)
@given(st.data(), naive.shapes(SINGLE))
def test_an_equi_join_gives_the_pairs_of_equal_key_that_match(data, window):
    streams, ordered, until = data.draw(naive.inputs(2))
    left, right = naive.input_types(2)
    operator = equi_join(
        name="j",
        left=left,
        right=right,
        size=window.size,
        advance=window.advance,
        key=lambda t: t.value % 2,
        match=lambda first, second: first.value <= second.value,
        emit=lambda first, second, out: out.emit(first.value, second.value),
        output=PAIRS,
        shares=4,
    )
    expected = naive.pairs(ordered, window, lambda a, b: a % 2 == b % 2 and a <= b)
    given_input = naive.input_of(streams, 2, until)
    assert rows(naive.query(operator), given_input, **splits(data.draw)) == expected


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_key_of_64_bits_has_a_bucket(key):
    operator = naive.counting(Window(advance=1, size=1))
    assert 0 <= bucket_of(operator, key) < operator.buckets


def test_neighbouring_keys_spread_over_the_buckets():
    buckets = np.bincount([hash_key(key) % 64 for key in range(-32_000, 32_000)], minlength=64)
    # 1,000 each on average; a standard deviation is 31.
    assert buckets.min() > 850
    assert buckets.max() < 1_150
    # As compiled code has it: splitmix64 of 0 is a published test vector.
    assert hash_key(0) == 0xE220A8397B1DCDAF
