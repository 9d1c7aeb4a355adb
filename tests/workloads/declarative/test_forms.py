"""Every declared form, on the reference engine and on multicore, against pandas written apart."""

import numpy as np
import pandas as pd
import pytest

import streamlab as lab
from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import left_out_words
from streamlab.workloads.model import ModelError
from tests.engines.tasks import run_task, task_of
from tests.workloads.declarative.declared_runs import (
    MINUTE,
    answer_of,
    assert_rows,
    random_rides,
    table_of,
)

SEEDS = (1, 2)
QUARTER = 15 * MINUTE


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed {seed}")
def rides(request: pytest.FixtureRequest) -> pd.DataFrame:
    return random_rides(request.param)


def closed(windows: pd.DataFrame, rides: pd.DataFrame) -> pd.DataFrame:
    """Return the windows that end when the last row has come."""
    return windows[windows.ts <= rides["at"].max()]


def tumbling(rides: pd.DataFrame, size: int) -> pd.DataFrame:
    return rides.assign(ts=rides["at"] // size * size + size)


def sliding(rides: pd.DataFrame, size: int, every: int) -> pd.DataFrame:
    """Return each ride once for each window that contains it."""
    first = rides["at"] // every * every
    lefts = [rides.assign(ts=first - i * every + size) for i in range(size // every)]
    copies = pd.concat(lefts)
    return copies[copies.ts > copies["at"]]


def test_a_class_declares_a_tumbling_window(rides, tmp_path):
    @lab.window("15 min", key="station", input=table_of(rides), name="rides")
    class Rides:
        count: int
        minutes: float

        def add(self, ride):
            self.count += 1
            self.minutes += ride.duration / 60

        def result(self):
            return {"rides": self.count, "mean_minutes": self.minutes / self.count}

    grouped = tumbling(rides, QUARTER).groupby(["ts", "station"]).duration
    expected = grouped.agg(rides="size", mean_minutes=lambda d: (d / 60).mean()).reset_index()
    assert_rows(answer_of(Rides, tmp_path), closed(expected, rides))


def test_a_class_has_defaults_a_filter_and_windows_without_output(rides, tmp_path):
    least = 20

    @lab.window("30 min", every="10 min", key="bike", input=table_of(rides), name="cheap")
    class Cheap:
        price: float = 1e9
        known: bool

        def where(self, ride):
            return ride.paid and ride.duration > 600

        def add(self, ride):
            self.price = min(self.price, ride.price)
            self.known = self.known or ride.price > 5

        def result(self):
            if self.key < least:
                return None
            return {"cheapest": self.price, "known": self.known}

    rows = rides[rides.paid & (rides.duration > 600)]
    grouped = sliding(rows, 30 * MINUTE, 10 * MINUTE).groupby(["ts", "bike"]).price
    expected = grouped.agg(cheapest="min", known=lambda p: (p > 5).any()).reset_index()
    assert_rows(answer_of(Cheap, tmp_path), closed(expected[expected.bike >= least], rides))


AGGREGATES = {
    "rides": lab.count(),
    "seconds": lab.sum("duration"),
    "revenue": lab.sum("price * duration / 60", exact=True),
    "mean": lab.mean("price"),
    "least": lab.min("price"),
    "longest": lab.max("duration"),
    "bikes": lab.distinct("bike", most=40),
    "paid": lab.sum("paid and duration > 100"),
}


def aggregated(grouped) -> pd.DataFrame:
    def row(group: pd.DataFrame) -> pd.Series:
        return pd.Series(
            {
                "rides": len(group),
                "seconds": group.duration.sum(),
                "revenue": np.sum(group.price * group.duration / 60),
                "mean": group.price.mean(),
                "least": group.price.min(),
                "longest": group.duration.max(),
                "bikes": group.bike.nunique(),
                "paid": (group.paid & (group.duration > 100)).sum(),
            }
        )

    return grouped.apply(row, include_groups=False).reset_index()


@pytest.mark.parametrize("key", ["station", None])
def test_named_aggregates_of_a_sliding_window(rides, key, tmp_path):
    table = table_of(rides)
    subject = lab.window("1 h", every="20 min", key=key, input=table, result=AGGREGATES, name="all")
    columns = ["ts"] if key is None else ["ts", key]
    expected = aggregated(sliding(rides, 60 * MINUTE, 20 * MINUTE).groupby(columns))
    assert_rows(answer_of(subject, tmp_path), closed(expected, rides))


@pytest.mark.parametrize("percent", [50, 95, 100])
def test_a_percentile_is_within_its_error(rides, percent, tmp_path):
    subject = lab.window(
        "30 min",
        key="station",
        input=table_of(rides),
        result={"p": lab.percentile("duration", percent, error=0.02)},
        name="slow",
    )
    grouped = tumbling(rides, 30 * MINUTE).groupby(["ts", "station"]).duration
    ranked = grouped.agg(lambda d: np.percentile(d, percent, method="inverted_cdf"))
    exact = closed(ranked.reset_index(), rides)
    actual = answer_of(subject, tmp_path).sort_values(["ts", "station"])
    assert len(actual) == len(exact) > 0
    error = np.abs(actual.p.to_numpy() / exact.duration.to_numpy() - 1)
    assert error.max() <= 0.02
    assert error.max() > 0, "a histogram is not exact"


def test_a_percentile_beyond_its_range_is_infinite(rides, tmp_path):
    result = {
        "high": lab.percentile("duration", 99, high=1000),
        "low": lab.percentile("price - 10", 1),
        "small": lab.percentile("price / 1000", 50, low=16),
    }
    subject = lab.window("1 h", input=table_of(rides), result=result, name="beyond")
    actual = answer_of(subject, tmp_path, workers=(1,))
    assert (
        set(actual.high) == {np.inf} and set(actual.low) == {-np.inf} and set(actual.small) == {8}
    )


def test_a_set_beyond_its_bound_fails_with_the_remedy(rides, tmp_path):
    result = {"bikes": lab.distinct("bike", most=3)}
    subject = lab.window("1 h", input=table_of(rides), result=result, name="beyond")
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=tmp_path / "catalogue"))
    message = r"distinct\(bike\): a window has more than 3 different values; raise most=3"
    with pytest.raises(ModelError, match=message):
        subject.oracle(dataset.load())
    with pytest.raises(EngineError, match=message):
        run_task(MulticoreEngine(), task_of(subject, dataset, tmp_path, "vsn"))


def sessions_of(rides: pd.DataFrame, pause: int) -> pd.DataFrame:
    """Return each ride with the number of its station's session."""
    ordered = rides.sort_values("at", kind="stable")
    gaps = ordered.groupby("station")["at"].diff() > pause
    return ordered.assign(number=gaps.groupby(ordered.station).cumsum())


@pytest.mark.parametrize("named", [True, False], ids=["aggregates", "class"])
def test_sessions_end_after_a_pause(named, tmp_path):
    rides = random_rides(3, rows=120)
    pause = 3 * MINUTE
    if named:
        result = {"rides": lab.count(), "bikes": lab.distinct("bike"), "cost": lab.sum("price")}
        subject = lab.session(
            "3 min", key="station", input=table_of(rides), result=result, name="visits"
        )
    else:

        @lab.session("3 min", key="station", input=table_of(rides), name="visits")
        class Visits:
            count: int
            cost: float

            def add(self, ride):
                self.count += 1
                self.cost += ride.price

            def result(self):
                return {"rides": self.count, "cost": self.cost}

        subject = Visits
    grouped = sessions_of(rides, pause).groupby(["station", "number"])
    expected = grouped.agg(
        first=("at", "min"),
        last=("at", "max"),
        rides=("at", "size"),
        bikes=("bike", "nunique"),
        cost=("price", "sum"),
    ).reset_index()
    expected.insert(0, "ts", (expected["last"] // pause + 2) * pause)
    # Either a later ride of the station shows the end, or the time of a later ride of any.
    followed = expected.groupby("station").number.transform("max") > expected.number
    expected = expected[followed | (expected.ts <= rides["at"].max())]
    expected = expected.drop(columns=["number", *([] if named else ["bikes"])])
    actual = answer_of(subject, tmp_path)
    assert_rows(actual, expected)
    assert actual.ts.is_monotonic_increasing
    assert (expected.rides > 1).any() and (expected.rides == 1).any()


def test_a_flushed_end_closes_windows_and_sessions(rides, tmp_path):
    source, result = table_of(rides), {"rides": lab.count()}
    windows = lab.window(
        "15 min", key="station", input=source, result=result, at_end="flush", name="windows"
    )
    grouped = tumbling(rides, QUARTER).groupby(["ts", "station"])
    assert_rows(answer_of(windows, tmp_path), grouped.size().reset_index(name="rides"))
    sessions = lab.session(
        "3 min", key="station", input=source, result=result, at_end="flush", name="sessions"
    )
    grouped = sessions_of(rides, 3 * MINUTE).groupby(["station", "number"])
    sizes = grouped.size().reset_index(name="rides")
    actual = answer_of(sessions, tmp_path)
    assert sorted(zip(actual.station, actual.rides, strict=True)) == sorted(
        zip(sizes.station, sizes.rides, strict=True)
    )


@pytest.mark.parametrize("named", [True, False], ids=["aggregates", "class"])
def test_count_windows_hold_a_number_of_rows(rides, named, tmp_path):
    if named:
        result = {"mean": lab.mean("duration"), "bikes": lab.distinct("bike")}
        subject = lab.count_window(
            5, key="station", input=table_of(rides), result=result, where="paid", name="fives"
        )
    else:

        @lab.count_window(5, key="station", where="paid", input=table_of(rides), name="fives")
        class Fives:
            total: int

            def add(self, ride):
                self.total += ride.duration

            def result(self):
                return {"mean": self.total / 5}

        subject = Fives
    rows = rides[rides.paid].reset_index(drop=True)
    number = rows.groupby("station").cumcount() // 5
    grouped = rows.assign(number=number, place=rows.index).groupby(["station", "number"])
    expected = grouped.agg(
        ts=("at", "max"),
        mean=("duration", "mean"),
        bikes=("bike", "nunique"),
        rows=("at", "size"),
        place=("place", "max"),
    ).reset_index()
    expected = expected[expected.rows == 5].sort_values("place")
    columns = ["ts", "station", "mean", *(["bikes"] if named else [])]
    assert_rows(answer_of(subject, tmp_path), expected[columns], ordered=True)


def test_the_first_rows_of_windows(rides, tmp_path):
    subject = lab.top(
        3,
        by="duration",
        size="30 min",
        key="station",
        columns=["bike", "price"],
        input=table_of(rides.assign(duration=rides.duration // 500)),
        name="longest",
    )
    rows = tumbling(rides.assign(duration=rides.duration // 500), 30 * MINUTE)
    order = ["duration", "bike", "price", "at"]
    ranked = rows.sort_values(order, ascending=[False, True, True, True])
    ranked["rank"] = ranked.groupby(["ts", "station"]).cumcount() + 1
    expected = closed(ranked[ranked["rank"] <= 3], rides)
    columns = ["ts", "station", "rank", *order]
    assert_rows(answer_of(subject, tmp_path), expected[columns])


def test_the_first_of_windows_of_windows(rides, tmp_path):
    counts = lab.window(
        "15 min", key="station", input=table_of(rides), result={"rides": lab.count()}, name="counts"
    )
    subject = lab.top(2, by="rides", input=counts, name="busiest")
    rows = tumbling(rides, QUARTER).groupby(["ts", "station"]).size().reset_index(name="rides")
    rows = closed(rows, rides)
    # Ties are in the order in which the stations appeared.
    first = {station: n for n, station in enumerate(rides.station.unique())}
    rows = rows.assign(n=rows.station.map(first), at=rows.ts, ts=rows.ts + QUARTER)
    ranked = rows.sort_values(["ts", "rides", "n"], ascending=[True, False, True])
    ranked["rank"] = ranked.groupby("ts").cumcount() + 1
    expected = closed(ranked[ranked["rank"] <= 2], rides)
    assert_rows(answer_of(subject, tmp_path), expected[["ts", "rank", "rides", "station", "at"]])


@pytest.mark.parametrize("within", ["10 min", None])
def test_duplicates_are_left_out(rides, within, tmp_path):
    subject = lab.deduplicate(
        key="bike", within=within, columns=["station"], input=table_of(rides), name="once"
    )
    kept, last = [], {}
    for ride in rides.itertuples():
        if ride.bike not in last or (within and ride.at - last[ride.bike] > 10 * MINUTE):
            last[ride.bike] = ride.at
            kept.append((ride.at, ride.bike, ride.station))
    expected = pd.DataFrame(kept, columns=["ts", "bike", "station"])
    assert_rows(answer_of(subject, tmp_path), expected, ordered=True)


def test_an_alert_comes_once_when_a_condition_has_held(rides, tmp_path):
    subject = lab.alert(
        "duration > 1000",
        lasting="2 min",
        key="station",
        columns=["bike"],
        input=table_of(rides),
        name="long",
    )
    alerts, since = [], {}
    for ride in rides.itertuples():
        if ride.duration <= 1000:
            since.pop(ride.station, None)
            continue
        began, was_sent = since.setdefault(ride.station, (ride.at, False))
        if not was_sent and ride.at - began >= 2 * MINUTE:
            since[ride.station] = (began, True)
            alerts.append((ride.at, ride.station, began, ride.bike))
    expected = pd.DataFrame(alerts, columns=["ts", "station", "since", "bike"])
    assert_rows(answer_of(subject, tmp_path), expected, ordered=True)


def test_rows_are_filtered_and_get_other_columns_before_others_follow(rides, tmp_path):
    paid = lab.select(
        {"station": "station", "minutes": "duration / 60", "at": "ts"},
        where=lambda ride: ride.paid,
        input=table_of(rides),
        name="paid",
    )
    subject = lab.count_window(
        3, key="station", input=paid, result={"longest": lab.max("minutes")}, name="threes"
    )
    rows = rides[rides.paid].assign(minutes=rides.duration / 60).reset_index(drop=True)
    expected = rows.assign(ts=rows["at"])[["ts", "station", "minutes", "at"]]
    assert_rows(answer_of(paid, tmp_path / "paid"), expected, ordered=True)
    number = rows.groupby("station").cumcount() // 3
    grouped = rows.assign(number=number).groupby(["station", "number"])
    last = grouped.agg(ts=("at", "max"), longest=("minutes", "max"), rows=("at", "size"))
    last = last[last.rows == 3].reset_index()
    assert_rows(answer_of(subject, tmp_path), last[["ts", "station", "longest"]])


def test_a_row_gives_several_rows_before_others_follow(rides, tmp_path):
    least = 100

    def parts(ride):
        """Yield a part for each paid quarter of an hour, and one for a long ride."""
        if ride.paid:
            for quarter in range(ride.duration // 900):
                yield {
                    "place": ride.station,
                    "part": quarter + least,
                    "price": ride.price,
                    "at": ride.ts,
                }
        if ride.duration > 3000:
            yield {"place": ride.station, "part": -1, "price": 0, "at": ride.ts}

    found = [
        (ride.at, ride.station, part, ride.price if part >= 0 else 0.0, ride.at)
        for ride in rides.itertuples()
        for part in [
            *(n + least for n in range(ride.duration // 900) if ride.paid),
            *([-1] if ride.duration > 3000 else []),
        ]
        if ride.duration > 200
    ]
    expected = pd.DataFrame(found, columns=["ts", "place", "part", "price", "at"])
    subject = lab.flat_map(parts, most=5, input=table_of(rides), where="duration > 200")
    assert subject.name == "parts"
    assert_rows(answer_of(subject, tmp_path / "parts"), expected, ordered=True)
    counted = lab.count_window(
        3, key=["place", "part"], input=subject, result={"cost": lab.sum("price")}, name="threes"
    )
    number = expected.groupby(["place", "part"]).cumcount() // 3
    grouped = expected.assign(number=number).groupby(["place", "part", "number"])
    threes = grouped.agg(ts=("ts", "max"), cost=("price", "sum"), n=("ts", "size")).reset_index()
    threes = threes[threes.n == 3][["ts", "place", "part", "cost"]]
    assert_rows(answer_of(counted, tmp_path / "threes"), threes)


@pytest.mark.parametrize("made", [True, False], ids=["function", "table"])
def test_texts_of_two_columns_become_one(made, tmp_path):
    rides = random_rides(7).assign(end=lambda rides: rides.station.shift(3, fill_value="Far away"))

    def ends(ride):
        yield {"place": ride.station, "change": -1}
        yield {"place": ride.end, "change": 1}

    def events(events, seed):
        return {"ts": rides["at"].to_numpy(), "station": [*rides.station], "end": [*rides.end]}

    changes = lab.flat_map(ends, most=2, input=events if made else table_of(rides))
    subject = lab.count_window(
        5, key="place", input=changes, result={"change": lab.sum("change")}, name="fives"
    )
    rows = pd.DataFrame(
        [
            (ride.at, place, change)
            for ride in rides.itertuples()
            for place, change in ((ride.station, -1), (ride.end, 1))
        ],
        columns=["ts", "place", "change"],
    )
    number = rows.groupby("place").cumcount() // 5
    grouped = rows.assign(number=number).groupby(["place", "number"])
    fives = grouped.agg(ts=("ts", "max"), change=("change", "sum"), n=("ts", "size"))
    fives = fives[fives.n == 5].reset_index()[["ts", "place", "change"]]
    assert_rows(answer_of(subject, tmp_path, workers=(2,), events=len(rides)), fives)
    other = lab.select(["station", "end"], input=table_of(rides), name="pairs")
    with pytest.raises(
        ModelError, match="place is a text of end, station, whose texts the input work"
    ):
        lab.flat_map(ends, most=2, input=other)


def test_more_rows_than_declared_end_the_run_with_the_remedy(rides, tmp_path):
    def copies(ride):
        for number in range(ride.bike):
            yield {"number": number}

    subject = lab.flat_map(copies, most=3, input=table_of(rides))
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=tmp_path / "catalogue"))
    message = "yields more than 3 rows for one; raise most=3"
    with pytest.raises(ModelError, match=message):
        subject.oracle(dataset.load())
    with pytest.raises(EngineError, match=message):
        run_task(MulticoreEngine(), task_of(subject, dataset, tmp_path, "ordered"))


def test_a_function_makes_the_rows_and_its_texts_are_numbered(tmp_path):
    def made(events, seed, stations=3):
        chance = np.random.default_rng(seed)
        names = np.array([f"station {n}" for n in range(stations)])
        return {
            "ts": np.arange(events) * 1_000,
            "station": names[chance.integers(0, stations, events)],
            "price": chance.integers(0, 100, events) / 4,
        }

    subject = lab.window(
        "1 min", key="station", input=made, result={"cost": lab.sum("price")}, name="generated"
    )
    rows = pd.DataFrame(made(500, 1))
    grouped = rows.assign(ts=rows.ts // MINUTE * MINUTE + MINUTE).groupby(["ts", "station"])
    expected = grouped.price.sum().reset_index(name="cost")
    actual = answer_of(subject, tmp_path, workers=(1,), events=500)
    assert_rows(actual, expected[expected.ts <= rows.ts.max()])


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_types_come_from_the_schema_or_the_first_rows_of_a_file(form, tmp_path):
    rides = random_rides(5, rows=50).assign(empty="", note="x", share=0.5)
    path = tmp_path / f"rides.{form}"
    rides.to_parquet(path) if form == "parquet" else rides.to_csv(path, index=False)
    table = getattr(lab, form)(path, ts="at", time_format="ms")
    subject = lab.deduplicate(key="bike", input=table, name="types")
    assert {column.name: column.dtype.str for column in subject.declaration.reads} == {
        "bike": "<i8",
        "station": "<i4",
        "duration": "<i8",
        "price": "<f8",
        "paid": "|b1",
        "empty": "<i4",
        "note": "<i4",
        "share": "<f8",
    }
    assert {c.name for c in subject.declaration.reads if c.dictionary} == {
        *("station", "empty", "note")
    }


def test_columns_that_a_table_derives_are_read(rides, tmp_path):
    table = table_of(rides, derive={"length": ("station", len)})
    subject = lab.window("1 h", input=table, result={"letters": lab.sum("length")}, name="derived")
    rows = tumbling(rides, 60 * MINUTE)
    expected = rows.assign(letters=rows.station.str.len()).groupby("ts").letters.sum().reset_index()
    assert_rows(answer_of(subject, tmp_path, workers=(1,)), closed(expected, rides))


def test_a_class_inherits_its_fields_defaults_and_functions(rides, tmp_path):
    class Cheap:
        price: float = 1e9

        def where(self, ride):
            return ride.paid

        def add(self, ride):
            self.price = min(self.price, ride.price)

    @lab.window("30 min", key="station", input=table_of(rides), name="inherits")
    class Known(Cheap):
        def result(self):
            return {"cheapest": self.price}

    grouped = tumbling(rides[rides.paid], 30 * MINUTE).groupby(["ts", "station"]).price
    expected = grouped.min().reset_index(name="cheapest")
    assert_rows(answer_of(Known, tmp_path, workers=(1,)), closed(expected, rides))


def test_texts_of_a_generated_input_are_filtered(tmp_path):
    def made(events, seed):
        return {"ts": np.arange(events) * 1_000, "station": ["a", "b", "c"] * (events // 3)}

    subject = lab.deduplicate(
        key="station", within="10 s", input=made, where="station in ('c', 'x', 'b')", name="made"
    )
    actual = answer_of(subject, tmp_path, workers=(), events=30)
    assert set(actual.station) == {"b", "c"}
    assert list(actual.station[:2]) == ["b", "c"]


@pytest.mark.parametrize(
    ("values", "of", "message"),
    [
        (
            [1 << 62, 1 << 62, -1 << 62],
            "v",
            r"field s_sum_ of beyond .* got 9223372036854775808; .* at the event .*ts=1, .*v=4611",
        ),
        (
            [1 << 40, 1],
            "v * v",
            r"1208925819614629174706176 is beyond 64 bits; use .*v=1099511627776",
        ),
    ],
)
def test_whole_numbers_beyond_64_bits_are_refused_with_row_field_and_value(
    values, of, message, tmp_path
):
    table = lab.arrays({"at": range(len(values)), "v": values}, ts="at", time_format="ms")
    subject = lab.window("1 min", input=table, result={"s": lab.sum(of)}, name="beyond")
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=tmp_path / "catalogue"))
    with pytest.raises(ModelError, match=message):
        subject.oracle(dataset.load())


def test_rows_without_a_value_are_left_out_of_programs_that_do_not_read_it(tmp_path):
    rides = random_rides(3)
    rides["price"] = rides["price"].where(rides.index % 5 > 0)
    table = table_of(rides, skip_missing=["price"])
    counts = lab.window(
        "10 min", input=table, result={"rides": lab.count()}, at_end="flush", name="counts"
    )
    answer = answer_of(counts, tmp_path)
    assert answer["rides"].sum() == rides["price"].notna().sum() < len(rides)
    (dataset,) = Catalog(root=tmp_path / "catalogue").list().datasets
    assert left_out_words(dataset.origin) == "the import left out 80 rows without price"
