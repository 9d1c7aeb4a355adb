"""Times of exports: forms, zones, units that are recognized, and mixtures that are refused."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import arrow, csv
from streamlab.workloads.datasets.times import ColumnTimes, TimeReader
from streamlab.workloads.datasets.times.columns import Times
from streamlab.workloads.datasets.times.duration import parse_duration
from tests.workloads.datasets.tables.programs import SUMS, made

APRIL_MS = 1_428_543_060_000
OPEN_MS = (9 * 60 + 30) * 60_000
MS = 1_536_507_914_000
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EIGHT = 1_291_191_960_000
"""2010-12-01 08:26 UTC, in ms."""


def read(column: pa.Array, form: str | None = None, zone: str = "UTC", unit: str = "ms") -> Times:
    reader = TimeReader(form, zone=zone, unit=unit)
    return ColumnTimes(reader).read(column, "here", lambda row: f"row {row}")


def times(
    cells: Sequence[object], form: str | None = None, zone: str = "UTC", unit: str = "ms"
) -> list[int]:
    found, bad = read(pa.array(cells), form, zone, unit)
    assert not bad
    return found.tolist()


def one(text: str, form: str | None = None, unit: str = "ms") -> int:
    (found,) = times([text], form, unit=unit)
    return found


def column(cells: Sequence[object], form: str | None = None) -> tuple[list[int], dict[int, str]]:
    found, bad = read(pa.array(cells), form)
    return found.tolist(), bad


def why(cell: object, form: str | None = None, zone: str = "UTC", unit: str = "ms") -> str:
    first = "1" if form in ("s", "ms", "us", "ns") else None
    column = pa.array([cell] if first is None or not isinstance(cell, str) else [first, cell])
    _, bad = read(column, form, zone, unit)
    assert list(bad) == [len(column) - 1]
    return bad[len(column) - 1]


@pytest.mark.parametrize(
    ("cell", "form", "ms"),
    [
        ("12/1/10 8:26", "%m/%d/%y %H:%M", EIGHT),
        ("01.12.2010 08:26:00", "%d.%m.%Y %H:%M:%S", EIGHT),
        ("01/Dec/2010:09:26:00 +0100", "%d/%b/%Y:%H:%M:%S %z", EIGHT),
        ("2010-12-01 08:26:00.5", "%Y-%m-%d %H:%M:%S.%f", EIGHT + 500),
        ("20101201", "%Y%m%d", EIGHT - 8 * 3_600_000 - 26 * 60_000),
        ("2010-12-01T08:26:00Z", None, EIGHT),
        ("2010-12-01 08:26", None, EIGHT),
        ("2010-12-01T10:26:00.123456789+02:00", None, EIGHT + 123),
        (" 2010-12-01 08:26:00.9999999 ", "iso", EIGHT + 999),
        ("2010-12-01", None, EIGHT - 8 * 3_600_000 - 26 * 60_000),
        ("Wed Dec 01 08:26:00 +0000 2010", None, EIGHT),
        ("1291191960", None, EIGHT),
        ("1291191960.25", None, EIGHT + 250),
        ("1.29119196e9", None, EIGHT),
        ("1291191960000", None, EIGHT),
        ("1291191960000000", None, EIGHT),
        ("1291191960000000000", None, EIGHT),
        ("1291191960", "ms", 1_291_191_960),
        ("1291191960.0009", "s", EIGHT),
        ("-1.5", "s", -1500),
        ("-0.0001", "s", -1),
        ("17", None, 17),
        (20101201, "%Y%m%d", EIGHT - 8 * 3_600_000 - 26 * 60_000),
        (1_291_191_960, None, EIGHT),
        (1_291_191_960.123, None, EIGHT + 123),
        (datetime(2010, 12, 1, 8, 26), None, EIGHT),
        (datetime(2010, 12, 1, 9, 26, tzinfo=timezone(timedelta(hours=1))), None, EIGHT),
        (date(2010, 12, 1), None, EIGHT - 8 * 3_600_000 - 26 * 60_000),
        ("2015-04-09T01:31:00.5+02:00", None, APRIL_MS - 7_199_500),
        ("Thu Apr 09 01:31:00 +0130 2015", None, APRIL_MS - 5_400_000),
        ("100000000000", None, 100_000_000_000),
        ("99999999999", None, 99_999_999_999_000),
        ("0", None, 0),
        ("-5", None, -5),
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
    ],
)
def test_the_forms_of_real_exports_are_read(cell: object, form: str | None, ms: int):
    assert times([cell], form) == [ms]
    assert times([cell, cell], form) == [ms, ms]


def test_one_form_holds_for_all_rows():
    assert times(["99999999", "100000000"]) == [99_999_999, 100_000_000]
    assert times(["100000000", "99999999"]) == [100_000_000, 99_999_999]
    assert "'2010-12-01' is not a number of seconds" in why("2010-12-01", "s")


NS = EIGHT * 1_000_000 + 123_456_789


@pytest.mark.parametrize(
    ("cells", "ns"),
    [
        (["2010-12-01T08:26:00.123456789"], [NS]),
        (["2010-12-01T09:26:00.123456789+01:00"], [NS]),
        (["2010-12-01 08:26:00.1234567Z"], [NS - 89]),
        (["20101201T082600,123456789Z"], [NS]),
        (["2010-12-01T08:26:00.1234567891"], [NS]),
        (["2010-12-01T08:26:00.123456789", "2010-12-01T09:26:00.123456789+01:00"], [NS, NS]),
        (["1969-12-31T23:59:59,999999999"], [-1]),
        (
            ["09:30:00.123456789", "09:30:00.1234567"],
            [OPEN_MS * 1_000_000 + 123_456_789, OPEN_MS * 1_000_000 + 123_456_700],
        ),
        (["2010-12-01T08:26:00.123456789", "Wed Dec 01 08:26:00 +0000 2010"], [NS, NS - 123456789]),
    ],
)
def test_iso_times_keep_their_nanoseconds(cells: list[str], ns: list[int]):
    assert times(cells, "iso", unit="ns") == ns
    assert times(cells, "iso", unit="us") == [time // 1000 for time in ns]
    assert times(cells, "iso") == [time // 1_000_000 for time in ns]


class TestZones:
    @pytest.mark.parametrize("form", [None, "%Y-%m-%d %H:%M:%S"])
    def test_an_hour_that_came_twice_is_the_first_and_one_that_never_came_is_bad(
        self, form: str | None
    ):
        # Clocks went from 3:00 to 2:00 on 31 October 2010, and from 2:00 to 3:00 on 28 March.
        (twice,) = times(["2010-10-31 02:30:00"], form, zone="Europe/Berlin")
        assert twice == datetime(2010, 10, 31, 0, 30, tzinfo=UTC).timestamp() * 1000
        words = why("2010-03-28 02:30:00", form, zone="Europe/Berlin")
        assert "is in an hour that Europe/Berlin left out" in words

    @pytest.mark.parametrize(
        ("form", "cells"),
        [
            (None, ["2010-10-31 02:30:00", "2010-10-31 01:30:00", "2010-10-31 02:30:00"]),
            (None, ["2010-10-31 02:30:00+01:00", "2010-10-31 02:30:00", "2010-10-31 02:30"]),
            ("%d.%m.%Y %H:%M", ["31.10.2010 02:30", "31.10.2010 03:00", "31.10.2010 02:59"]),
            (None, [datetime(2010, 10, 31, 2, minute) for minute in (30, 0)]),
            (None, [None, "2010-10-31 02:30:00", "2010-10-31 02:00:00"]),
        ],
    )
    def test_times_in_an_hour_that_came_twice_are_counted(self, form: str | None, cells: list):
        reader = TimeReader(form, zone="Europe/Berlin")
        columns = ColumnTimes(reader)
        for _ in range(2):  # the second time from memory
            columns.read(pa.array(cells), "here", lambda row: f"row {row}")
        report = reader.report()
        assert report["repeated_times"] == 4
        first = next(row for row, cell in enumerate(cells) if "02:" in str(cell)[:14] + ":")
        if "+01:00" in str(cells[first]):
            first += 1
        assert report["first_repeated_time"] == f"{cells[first]} (row {first})"

    @pytest.mark.parametrize(
        ("zone", "text", "count"),
        [
            ("America/Havana", "2023-11-05 00:30", 1),  # back from 1:00 to 0:00
            ("Asia/Beirut", "2022-10-29 23:30", 1),  # back from 24:00 to 23:00
            ("Australia/Lord_Howe", "2023-04-02 01:45", 1),  # back by half an hour
            ("Australia/Lord_Howe", "2023-04-02 01:15", 0),
            ("America/New_York", "2023-11-05 01:30", 1),
            ("America/New_York", "2023-11-05 02:00", 0),
            ("Asia/Kolkata", "2023-11-05 01:30", 0),
            ("UTC", "2023-10-29 02:30", 0),
        ],
    )
    def test_every_zone_has_its_own_hour_twice(self, zone: str, text: str, count: int):
        for cells in (pa.array([text]), pa.array([datetime.fromisoformat(text)])):
            reader = TimeReader(zone=zone)
            ColumnTimes(reader).read(cells, "here", str)
            assert reader.report()["repeated_times"] == count

    def test_an_unknown_zone_is_refused_when_the_table_is_declared(self):
        with pytest.raises(
            DatasetError, match="zone is 'Mars/Base', which this machine does not know"
        ):
            csv("a.csv", ts="t", zone="Mars/Base")


@pytest.mark.parametrize(
    ("cell", "form", "words"),
    [
        ("", None, "is empty"),
        (None, "s", "is empty"),
        ("noon", None, "'noon' is not a time; give the time format"),
        ("Thu Foo 09 01:31:00 +0000 2015", None, "is not a time"),
        ("2015-02-30", None, "is not a time"),
        ("99999999999999999999999", None, "is too large for a time in any unit"),
        ("9" * 5000, None, "is not a time"),
        ("1e999", "s", "1e999 is beyond 2^61"),
        ("256000", "hhmmss", "'256000' is not a time as hhmmss"),
        ("9300", "hhmmss", "'9300' is not a time as hhmmss"),
        ("09:30:00+01:00", "iso", "'09:30:00+01:00' is not an ISO 8601 time"),
        ("02/31/10", "%m/%d/%y", "'02/31/10' is not of the form %m/%d/%y"),
        ("12/1/10 8:26 PM", "%m/%d/%y %H:%M", "is not of the form"),
        ("yesterday", "iso", "'yesterday' is not an ISO 8601 time"),
        ("nan", "s", "'nan' is not a number of seconds"),
        ("inf", "ms", "'inf' is not a number of milliseconds"),
        ("0x10", "s", "'0x10' is not a number"),
        (float("nan"), "s", "is empty"),
        (float("inf"), "s", "is empty"),
        (1e300, "s", "beyond 2^61"),
        ("9223372036854775808", "ms", "9223372036854775808 is beyond 2^61"),
        ("-9223372036854775808", "ms", "beyond 2^61"),
        (2**63 - 1, "s", "beyond 2^61"),
        (-(2**63), "ms", "beyond 2^61"),
        (2**62, "ns", None),
    ],
)
def test_a_cell_that_is_no_time_is_reported(cell: object, form: str | None, words: str | None):
    if words is None:
        assert times([cell], form) == [2**62 // 10**6]
    else:
        assert words in why(cell, form)


def test_floats_too_coarse_for_dates_are_refused():
    with pytest.raises(DatasetError, match="of type float, which is exact only up to 167"):
        read(pa.array([1.7e9], pa.float32()))
    assert read(pa.array([17.0], pa.float32()))[0].tolist() == [17]


def test_unsigned_times_of_63_bits_are_not_taken_for_negative_ones():
    column = pa.array([1, 2**63], pa.uint64())
    found, bad = read(column, "ms")
    assert found[0] == 1
    assert bad == {1: "9223372036854775808 is beyond 2^63"}
    nanoseconds = 3 * 10**18  # in 2065, above 2^61
    assert read(pa.array([nanoseconds], pa.uint64()))[0].tolist() == [3 * 10**12]


def test_a_pattern_for_a_column_of_timestamps_is_refused(catalog: Catalog):
    table = pa.table({"t": [datetime(2010, 12, 1)], "value": [1]})
    with pytest.raises(DatasetError, match=r"already of type .*; leave out the time format"):
        made(arrow(table, ts="t", kind="=value", time_format="%Y"), SUMS, catalog)


def test_an_unknown_time_format_is_refused():
    with pytest.raises(DatasetError, match="time_format is 'minutes'; give one of iso, s, ms"):
        csv("a.csv", ts="t", time_format="minutes")


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1), st.sampled_from(["s", "ms", "us", "ns"]))
def test_whole_numbers_are_scaled_like_exact_fractions(values: list[int], form: str):
    per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[form]
    exact = [value * 1000 // per_s for value in values]
    texts, bad = read(pa.array([str(v) for v in values]), form)
    numbers, same = read(pa.array(values, pa.int64()), form)
    assert set(bad) == set(same) == {row for row, ms in enumerate(exact) if abs(ms) > 2**61}
    kept = np.array([row not in bad for row in range(len(values))])
    expected = [ms for ms in exact if abs(ms) <= 2**61]
    assert texts[kept].tolist() == numbers[kept].tolist() == expected


@given(
    st.lists(
        st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(
            lambda time: time.replace(microsecond=0)
        ),
        min_size=1,
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
)
def test_patterns_timestamps_and_iso_times_agree(found: list[datetime], zone: str):
    here = ZoneInfo(zone)
    exact = {
        row: (time.replace(tzinfo=here) - datetime(1970, 1, 1, tzinfo=UTC))
        // timedelta(milliseconds=1)
        for row, time in enumerate(found)
        if time.replace(tzinfo=here).astimezone(UTC).astimezone(here).replace(tzinfo=None) == time
    }
    columns = {
        "%Y-%m-%d %H:%M:%S": pa.array([f"{time:%Y-%m-%d %H:%M:%S}" for time in found]),
        "iso": pa.array([time.isoformat() for time in found]),
        None: pa.array(found, pa.timestamp("us")),
    }
    for form, column in columns.items():
        ms, bad = read(column, form, zone)
        assert {row: int(ms[row]) for row in range(len(found)) if row not in bad} == exact


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
        assert one(written(form), form, unit) == exact
        times = ColumnTimes(TimeReader(form, unit=unit)).read(pa.array([written(form)]), "t", str)
        assert times[0].tolist() == [exact]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000)
    finer = f"{moment:%Y-%m-%dT%H:%M:%S.%f}{ns % 1000:03}Z"
    assert one(finer, "iso", unit) == exact
    stamps = pa.array([ns], pa.timestamp("ns", "UTC"))
    assert ColumnTimes(TimeReader(unit=unit)).read(stamps, "t", str)[0].tolist() == [exact]


@given(st.integers(-(2**31), 2**33), st.integers(0, 1023))
def test_a_float_is_the_time_of_its_exact_value(seconds: int, part: int):
    number = seconds + part / 1024  # exact in a float
    ms = (seconds * 1024 + part) * 1000 // 1024
    assert column([number], "s") == ([ms], {})
    assert one(repr(number), "s") == ms


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
            assert "--time ms reads all as milliseconds" in bad[4]

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
            assert f"--time '{pattern}' reads dates, --time ms reads all" in bad[0]
            assert not column(some, pattern)[1]

    @pytest.mark.parametrize("cells", [["0.001", "0.5"], [0.25, 1.75], ["1e-3", "2.5"]])
    def test_small_fractions_are_refused(self, cells: list[object]):
        _, bad = column(cells)
        assert list(bad) == [0, 1]
        assert "has a fraction, so its unit is unknown; --time s reads all as seconds" in bad[0]
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


@pytest.mark.parametrize(
    ("duration", "unit", "units"),
    [
        ("15 min", "ms", 900_000),
        ("1.5s", "ms", 1_500),
        ("2 d", "s", 172_800),
        ("2h", "us", 7_200_000_000),
        ("0 s", "ns", 0),
        ("15 minutes", "s", 900),
        ("1 day", "s", 86_400),
        ("30 seconds 1 millisecond", "ms", 30_001),
        ("1h30m", "s", 5_400),
        (" 1 hour  30 min ", "s", 5_400),
        ("1 microsecond 2 nanoseconds", "ns", 1_002),
        (timedelta(hours=1), "us", 3_600_000_000),
        (5, "s", 5),
    ],
)
def test_durations_are_units_of_event_time(duration, unit, units):
    assert parse_duration(duration, unit, "x") == units


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        *(
            (wrong, "x is .*; give a duration such as '15 min'")
            for wrong in (True, "10", "min", 1.5, "2 fortnights", "1h30", "1 h, 30 min")
        ),
        ("0.5 ms", "not a multiple of 1 s"),
        (-1, "give 1 s or more"),
        ("0 s", "give 1 s or more"),
        (1 << 60, "below 2\\^60 s"),
    ],
)
def test_other_durations_are_refused(duration, words):
    with pytest.raises(DatasetError, match=words):
        parse_duration(duration, "s", "x", shortest=1)
