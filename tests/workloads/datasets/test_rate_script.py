import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.datasets.rate_script import parse_rates
from streamlab.workloads.model import ModelError

PAPER = "phases(100000, 300000, 63, 1000)"
SCRIPTS = st.one_of(
    st.just("steady"),
    st.builds("step({}, {})".format, st.integers(1, 5_000), st.integers(100, 5_000)),
    st.builds(
        lambda a, b, c, d: f"phases({a}, {a + b}, {c}, {c + d})",
        *(st.integers(1, 500), st.integers(0, 500), st.integers(100, 2_000), st.integers(0, 2_000)),
    ),
)


def times(text, count, rate_eps, seed=1):
    return parse_rates(text, "rates").times_ms(np.arange(count), rate_eps, seed)


def one_by_one(text, count, rate_eps, seed):
    """Hand out the tuples of each phase one after the other, in fractions of a millisecond."""
    starts, factors = parse_rates(text, "rates").changes(40_000, seed)
    found, owed = [], 0  # owed: tuples sent so far, in millionths
    for start, end, factor in zip(
        starts.tolist(), [*starts.tolist()[1:], None], factors.tolist(), strict=True
    ):
        while len(found) < count:
            at = start + (len(found) * 10**6 - owed) // (factor * rate_eps)
            if end is not None and at >= end:
                break
            found.append(at)
        if end is not None:
            owed += (end - start) * factor * rate_eps
    return found


def test_a_steady_stream_has_its_rate():
    assert times("steady", 6, 3).tolist() == [0, 333, 666, 1000, 1333, 1666]


def test_a_step_has_one_rate_before_and_another_after():
    assert times("step(1000, 2000)", 8, 2).tolist() == [0, 500, 1000, 1250, 1500, 1750, 2000, 2250]


@given(
    text=SCRIPTS, count=st.integers(1, 300), rate_eps=st.integers(100, 3_000), seed=st.integers()
)
def test_a_script_equals_a_loop_over_tuples(text, count, rate_eps, seed):
    got = times(text, count, rate_eps, seed).tolist()
    expected = one_by_one(text, count, rate_eps, seed)
    assert got == expected
    assert got == sorted(got)


@given(text=SCRIPTS, cut=st.integers(0, 400), streams=st.integers(1, 5))
def test_any_split_into_ranges_and_streams_gives_the_same_times(text, cut, streams):
    script = parse_rates(text, "rates")
    whole = script.times_ms(np.arange(400), 700, 3)
    parts = [script.times_ms(np.arange(a, b), 700, 3) for a, b in ((0, cut), (cut, 400))]
    assert np.array_equal(np.concatenate(parts), whole)
    for index in range(streams):
        rows = np.arange(index, 400, streams)
        assert np.array_equal(script.times_ms(rows, 700, 3), whole[rows])


def test_the_papers_phases_are_100_to_300_s_of_500_to_8000_tuples_a_second():
    script = parse_rates(PAPER, "rates")
    starts, factors = script.changes(1_200_000, seed=5)
    lengths = np.diff(starts)
    assert 4 <= len(starts) <= 12
    assert lengths.min() >= 100_000
    assert lengths.max() <= 300_000
    assert factors.min() >= 63
    assert factors.max() <= 1000
    ts = script.times_ms(np.arange(4_000_000), 4_000, 5)
    for begin, end, factor in zip(starts, starts[1:], factors, strict=False):
        inside = np.diff(np.searchsorted(ts, [begin, end]))[0]
        if end < ts[-1]:
            assert inside == pytest.approx((end - begin) / 1000 * 4_000 * factor / 1000, abs=1)


def test_the_highest_numbers_do_not_overflow():
    text = "phases(1000000000, 1000000000, 1000000, 1000000)"
    assert times(text, 5, 10**9).tolist() == [0] * 5
    last = parse_rates(text, "rates").times_ms(np.array([10**12 - 1]), 10**9, 1)
    assert last.tolist() == [999]  # a thousand times a thousand million a second
    assert parse_rates("steady", "rates").times_ms(np.array([10**12]), 1, 1)[0] == 10**15


def test_the_bounds_of_phases_are_all_reached():
    starts, factors = parse_rates("phases(1, 3, 5, 8)", "rates").changes(5_000, seed=2)
    assert set(np.diff(starts).tolist()) == {1, 2, 3}
    assert set(factors.tolist()) == {5, 6, 7, 8}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast", "rates is 'fast'; expected steady, step"),
        ("step", r"rates is 'step'; expected steady, step\(AT_MS, PERMILLE\)"),
        ("step(5)", "expected steady"),
        ("step(1, 2, 3)", "expected steady"),
        ("step(0, 5)", "ms must be from 1 to 1,000,000,000"),
        ("step(5, 1000001)", "thousandths must be from 1 to 1,000,000"),
        ("step(5, )", "expected whole numbers"),
        ("step(-5, 5)", "expected steady"),
        ("phases(5, 4, 1, 1)", "lower bounds"),
        ("phases(4, 5, 2, 1)", "lower bounds"),
        ("phases(4, 5, 2, 10000000000)", "from 1 to"),
    ],
)
def test_a_bad_script_is_refused_with_the_expected_form(text, message):
    with pytest.raises(ModelError, match=message):
        parse_rates(text, "rates")
