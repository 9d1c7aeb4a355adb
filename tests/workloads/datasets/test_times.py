"""The reader of times: forms, units that are recognized, and mixtures that are refused."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.datasets.times import ColumnTimes, TimeReader

APRIL_MS = 1_428_543_060_000
OPEN_MS = (9 * 60 + 30) * 60_000
MS = 1_536_507_914_000
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read(text: str, form: str | None = None, unit: str = "ms") -> int | str:
    times, bad = ColumnTimes(TimeReader(form, unit=unit)).read(pa.array([text]), "t", str)
    return bad.get(0, int(times[0]))


def column(cells: Sequence[object], form: str | None = None) -> tuple[list[int], dict[int, str]]:
    times, bad = ColumnTimes(TimeReader(form)).read(pa.array(cells), "t", lambda at: f"row {at}")
    return times.tolist(), bad


@pytest.mark.parametrize(
    ("text", "form", "ms"),
    [
        ("2015-04-09T01:31:00.5+02:00", None, APRIL_MS - 7_199_500),
        ("Thu Apr 09 01:31:00 +0130 2015", None, APRIL_MS - 5_400_000),
        ("1428543060", None, APRIL_MS),
        ("1428543060000", None, APRIL_MS),
        ("1428543060000000", None, APRIL_MS),
        ("1428543060000000000", None, APRIL_MS),
        ("1.42854306e9", None, APRIL_MS),
        ("100000000000", None, 100_000_000_000),
        ("99999999999", None, 99_999_999_999_000),
        ("99999999", None, 99_999_999),
        ("0", None, 0),
        ("-5", None, -5),
        ("-1.5", "s", -1500),
        ("5", "ms", 5),
        ("0.0019", "s", 1),
        ("34200123.9", "ms", OPEN_MS + 123),
        ("34200.0042", "s", OPEN_MS + 4),
        ("093000123456789", "hhmmss", OPEN_MS + 123),
        ("093000.5", "hhmmss", OPEN_MS + 500),
        ("093000", "hhmmss", OPEN_MS),
        ("09:30:00.123", None, OPEN_MS + 123),
        ("09:30", "iso", OPEN_MS),
        ("20150409", "iso", APRIL_MS - 91 * 60_000),
        ("20150409", "%Y%m%d", APRIL_MS - 91 * 60_000),
    ],
)
def test_the_forms_of_times(text: str, form: str | None, ms: int):
    assert read(text, form) == ms


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", None),
        ("noon", None),
        ("Thu Foo 09 01:31:00 +0000 2015", None),
        ("2015-02-30", None),
        ("99999999999999999999999", None),
        ("9" * 5000, None),
        ("x", "ms"),
        ("1e999", "s"),
        ("256000", "hhmmss"),
        ("9300", "hhmmss"),
        ("09:30:00+01:00", "iso"),
    ],
)
def test_what_is_no_time(text: str, form: str | None):
    assert isinstance(read(text, form), str)


@pytest.mark.parametrize("text", ["-1.0005", "-1.0005e0", "-0.0010005e3"])
def test_fractions_before_1970_are_rounded_down(text: str):
    assert read(text, "s") == -1001
    assert column([text, "-0.0001"], "s") == ([-1001, -1], {})
    assert column([float(text)], "s") == ([-1001], {})
    assert read("1969-12-31T23:59:58.9995") == -1001


@given(
    st.integers(-(10**18), 2**61),  # the farthest event time
    st.sampled_from(sorted(PER_SECOND)),
)
def test_one_instant_has_one_event_time_in_all_forms(ns: int, unit: str):
    def written(form: str) -> str:
        fraction = Fraction(ns, 10**9 // PER_SECOND[form])
        whole, part = divmod(abs(fraction), 1)
        return f"{'-' * (ns < 0)}{whole}.{int(part * 10**9):09}"

    exact = ns * PER_SECOND[unit] // 10**9
    for form in PER_SECOND:
        assert read(written(form), form, unit) == exact
        times = ColumnTimes(TimeReader(form, unit=unit)).read(pa.array([written(form)]), "t", str)
        assert times[0].tolist() == [exact]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000)
    finer = f"{moment:%Y-%m-%dT%H:%M:%S.%f}{ns % 1000:03}Z"
    assert read(finer, "iso", unit) == exact
    stamps = pa.array([ns], pa.timestamp("ns", "UTC"))
    assert ColumnTimes(TimeReader(unit=unit)).read(stamps, "t", str)[0].tolist() == [exact]


@given(st.integers(-(2**31), 2**33), st.integers(0, 1023))
def test_a_float_is_the_time_of_its_exact_value(seconds: int, part: int):
    number = seconds + part / 1024  # exact in a float
    ms = (seconds * 1024 + part) * 1000 // 1024
    assert column([number], "s") == ([ms], {})
    assert read(repr(number), "s") == ms


IN_MS = [MS, MS + 1, MS + 2, MS + 3]


class TestMixtures:
    @pytest.mark.parametrize(
        ("odd", "looks"),
        [
            (MS * 1000, "looks like microseconds since 1970"),
            (MS * 10**6, "looks like nanoseconds since 1970"),
            (MS // 1000, "looks like seconds since 1970"),
            (0, "looks like a count of milliseconds"),
            ("2018-09-09", "looks like ISO 8601"),
            ("2018-09-09T15:45:14+02:00", "looks like ISO 8601"),
            ("15:45:14", "looks like a time of day"),
            ("n/a", "is not a number of milliseconds"),
            (10**23, "is too large for a time in any unit"),
        ],
    )
    def test_a_row_in_another_form_is_bad(self, odd: object, looks: str):
        times, bad = column([str(cell) for cell in (*IN_MS, odd)])
        assert times[:4] == IN_MS
        assert list(bad) == [4]
        assert looks in bad[4]
        if "looks like" in looks:
            assert f"such as {MS} (row 0)" in bad[4] or f"but {MS} (row 0)" in bad[4]
        if isinstance(odd, int) and "looks like" in looks:
            assert "--time ms takes all for milliseconds" in bad[4]

    def test_a_chosen_unit_takes_all(self):
        assert column([MS, MS * 1000, 0], "ms") == ([MS, MS * 1000, 0], {})

    @pytest.mark.parametrize(
        "cells",
        [
            [0, 1, 2],
            [5, -3, 0, 7],
            list(range(0, 10**9, 10**7)),
            [*range(0, 10**12, 10**8 - 1)][:30],
            [99_999_999, 100_000_001, 100_000_002],
        ],
    )
    def test_small_numbers_are_counts_and_may_grow(self, cells: list[int]):
        assert column(cells) == (cells, {})

    @pytest.mark.parametrize(
        ("cells", "pattern"),
        [
            (["20240131", "20240201"], "%Y%m%d"),
            (["2024013115", "2024013116"], "%Y%m%d%H"),
            (["202401311530", "202402011530"], "%Y%m%d%H%M"),
            (["20240131153000", "20240131153001"], "%Y%m%d%H%M%S"),
            (["20240131153000123", "20240131153000124"], "%Y%m%d%H%M%S%f"),
            (["31012024", "28022024"], "%d%m%Y"),
            (["12312024", "12302024"], "%m%d%Y"),
        ],
    )
    def test_dates_as_numbers_are_refused_with_their_pattern(self, cells: list[str], pattern: str):
        for some in (cells, [int(cell) for cell in cells]):
            _, bad = column(some)
            assert list(bad) == [0, 1]
            assert "as a number" in bad[0]
            assert f"--time '{pattern}' reads dates, --time ms takes all" in bad[0]
            assert not column(some, pattern)[1]

    @pytest.mark.parametrize("cells", [["0.001", "0.5"], [0.25, 1.75], ["1e-3", "2.5"]])
    def test_small_fractions_are_refused(self, cells: list[object]):
        _, bad = column(cells)
        assert list(bad) == [0, 1]
        assert "has a fraction, and no unit shows; --time s takes all for seconds" in bad[0]
        assert not column(cells, "s")[1]

    def test_times_of_day_and_days_are_not_mixed(self):
        for form in (None, "iso"):
            _, bad = column(["09:30:00", "09:30:01", "2024-01-01"], form)
            assert list(bad) == [2]
            assert "looks like a time of day; write all in one form" in bad[2] or (
                "look like a time of day; write all in one form" in bad[2]
            )


def test_a_far_first_row_does_not_decide_the_unit_of_a_table():
    for far in (MS * 1000, 10**23, 0, "n/a"):
        times, bad = column([str(cell) for cell in (far, *IN_MS)])
        assert times[1:] == IN_MS
        assert list(bad) == [0]


def test_most_of_the_first_rows_decide_for_later_columns():
    times = ColumnTimes(TimeReader())
    assert times.read(pa.array(IN_MS), "t", str)[1] == {}
    assert list(times.read(pa.array([MS // 1000, MS]), "t", str)[1]) == [0]
    assert list(times.read(pa.array([str(MS * 1000), str(MS)]), "t", str)[1]) == [0]


def test_whole_floats_are_numbers_also_where_some_are_missing():
    assert column([20240131.0, None], "%Y%m%d") == ([1_706_659_200_000, 0], {1: "is empty"})
    assert column([0.0, 1.0, 2.0]) == ([0, 1, 2], {})


def test_a_mixture_of_times_with_and_without_a_zone_is_reported():
    reader = TimeReader()
    cells = pa.array(["2024-01-01T00:00:00Z", "2024-01-01T00:00:00"])
    assert ColumnTimes(reader).read(cells, "t", str)[1] == {}
    assert (
        "some do not, such as 2024-01-01T00:00:00, and are those of UTC" in reader.report()["times"]
    )


@given(
    st.sampled_from(["%d/%m/%Y %H:%M:%S", "%Y%m%d", "%H.%M %Y-%m-%d"]),
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
    st.integers(0, 18),
    st.sampled_from([*"09135/ x", ""]),
)
def test_a_pattern_of_fixed_width_is_read_as_strptime_reads_it(
    pattern: str, moment: datetime, place: int, sign: str
):
    good = moment.strftime(pattern.replace("%Y", f"{moment.year:04}"))
    odd = good[:place] + sign + good[place + 1 :]
    for cells in ([good, good], [good, odd], [f" {good}", "x" + good, odd]):
        times, bad = column(cells, pattern)
        for row, cell in enumerate(cells):
            try:
                exact = datetime.strptime(cell.strip(), pattern).replace(tzinfo=UTC)
            except ValueError:
                assert row in bad
            else:
                since = exact - datetime(1970, 1, 1, tzinfo=UTC)
                assert (times[row], row in bad) == (since // timedelta(milliseconds=1), False)
