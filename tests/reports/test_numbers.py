"""Numbers as text: three digits, the nearest unit, the exact value."""

import pytest

from streamlab.reports.numbers import (
    Quantity,
    count,
    digits,
    duration,
    latency,
    low_end,
    memory,
    rate,
    times,
    unit_words,
)


@pytest.mark.parametrize(
    ("eps", "text"),
    [
        (412_345_678, "412 M/s"),
        (4_123_456, "4.12 M/s"),
        (41_234, "41.2 k/s"),
        (999_600, "1.00 M/s"),
        (999_999_999, "1.00 G/s"),
        (12, "12.0 /s"),
        (0, "0 /s"),
    ],
)
def test_rates_have_three_digits_and_the_nearest_unit(eps, text):
    assert rate(eps).text == text


def test_a_quantity_has_its_exact_value_and_a_short_text():
    assert rate(412_345_678).exact == "412,345,678 events/s"
    assert duration(1234.5).exact == "1,234 ns"
    assert memory(1 << 30).exact == "1,073,741,824 bytes"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (850, "850 ns"),
        (1_240, "1.24 µs"),
        (999_999, "1.00 ms"),
        (2.3e9, "2.30 s"),
        (0.42, "0.42 ns"),
        (0, "0 ns"),
    ],
)
def test_durations_go_from_nanoseconds_to_seconds(ns, text):
    assert duration(ns).text == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(999, "999 B"), (1_500, "1.46 KiB"), (3 << 30, "3.00 GiB"), (5 << 40, "5.00 TiB")],
)
def test_sizes_have_the_largest_binary_unit(size, text):
    assert memory(size).text == text


def test_sizes_of_one_axis_have_one_unit():
    assert [memory(n << 29, 2.0**30).text for n in (0, 1, 3)] == ["0 GiB", "0.5 GiB", "1.50 GiB"]


def test_latencies_below_the_price_of_a_clock_have_no_digits():
    assert latency(32.0) == Quantity(text="< 100 ns", exact="32 ns")
    assert latency(100.0) == duration(100.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.8, "1.80 \u00d7 Spark"),
        (212.4, "212 \u00d7 Spark"),
        (0.0123, "0.0123 \u00d7 Spark"),
        (1 / 540, "540 \u00d7 slower than Spark"),
    ],
)
def test_a_ratio_names_its_base_and_a_small_one_how_much_slower(value, text):
    assert times(value, "Spark").text == text


def test_a_batch_size_reads_as_what_is_handed_over():
    assert [unit_words(size) for size in (None, 1, 4096)] == [
        "",
        "one event at a time",
        "blocks of 4,096",
    ]


def test_counts_drop_zeros_that_say_nothing():
    assert count(40_000_000).text == "40 M"
    assert count(1_500).text == "1.5 k"
    assert count(100_000_000).text == "100 M"
    assert count(7).text == "7"


def test_large_numbers_without_a_unit_are_grouped():
    assert digits(1_234_567) == "1,234,567"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(1.7e7, 2.19e7, "17.0"), (608e3, 1.66e6, "608 k/s"), (5.0, 9.0, "5.00")],
)
def test_a_unit_that_both_ends_of_a_range_have_stands_once(low, high, shown):
    found = low_end(rate(low), rate(high))
    assert (found.text, found.exact) == (shown, rate(low).exact)
