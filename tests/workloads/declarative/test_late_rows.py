"""Windows that late rows can join, and the rows that came too late, against loops over rows as they were read."""

import numpy as np
import pandas as pd
import pytest

import streamlab as lab
from streamlab.workloads.model import ModelError
from tests.workloads.declarative.declared_runs import (
    STATIONS,
    answer_of,
    assert_rows,
    table_of,
)

SECOND = 1_000
BOUND, ALLOWED = 5 * SECOND, 20 * SECOND
KEPT = {"out_of_order": "5 s", "late": "keep"}


def disordered_rides(seed: int, rows: int = 300) -> pd.DataFrame:
    """Return rides as they are read: a quarter is up to 90 s behind its place."""
    chance = np.random.default_rng(seed)
    at = np.cumsum(chance.integers(0, 4, rows)) - chance.integers(0, 90, rows) * (
        chance.random(rows) < 0.25
    )
    return pd.DataFrame(
        {
            "at": 1_772_900_000_000 + at * SECOND,
            "station": chance.choice(STATIONS, rows),
            "price": chance.integers(0, 2_000, rows) / 100,
        }
    )


def windows_of(
    rides: pd.DataFrame, size: int, every: int, allowed: int
) -> tuple[dict[int, list[int]], list[int]]:
    """Return the rows of each window by its end, and the rows of none, as one reader of the rows finds them."""
    latest, joined, late = -(2**62), {}, []
    for row, ts in enumerate(rides["at"].tolist()):
        watermark = latest - BOUND
        ends = [e for e in range(ts // every * every + size, ts, -every) if e - size <= ts < e]
        taken = [end for end in ends if watermark < end + allowed]
        for end in taken:
            joined.setdefault(end, []).append(row)
        late += [] if taken else [row]
        latest = max(latest, ts)
    return joined, late


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("size_s", "every_s", "allowed"), [(10, 10, None), (10, 10, "20 s"), (30, 10, "20 s")]
)
def test_a_window_takes_rows_until_the_watermark_has_passed_it(
    seed, size_s, every_s, allowed, tmp_path
):
    rides = disordered_rides(seed)
    subject = lab.window(
        f"{size_s} s",
        every=f"{every_s} s",
        key="station",
        where="price > 2",
        allowed_lateness=allowed,
        input=table_of(rides, **KEPT),
        result={"rides": lab.count(), "price": lab.max("price")},
        name="prices",
    )
    size, every = size_s * SECOND, every_s * SECOND
    joined, late = windows_of(rides, size, every, 0 if allowed is None else ALLOWED)
    parts = [rides.loc[rows].assign(ts=end) for end, rows in joined.items()]
    rows = pd.concat(parts)[lambda all_rows: all_rows.price > 2]
    expected = rows.groupby(["ts", "station"]).price.agg(rides="size", price="max").reset_index()
    assert_rows(answer_of(subject, tmp_path), expected[expected.ts <= rides["at"].max()])

    too_late = answer_of(lab.late_rows(subject), tmp_path)
    late_by = rides["at"].cummax() - rides["at"]
    wanted = rides.assign(ts=rides["at"], late_by=late_by).loc[late]
    assert_rows(too_late, wanted[["ts", "late_by", "station", "price"]])


def test_a_class_can_read_how_late_a_ride_is(tmp_path):
    rides = disordered_rides(3)

    @lab.window("10 s", input=table_of(rides, **KEPT), allowed_lateness="20 s", name="lateness")
    class Lateness:
        largest: int

        def add(self, ride):
            self.largest = max(self.largest, ride.late_by)

        def result(self):
            return {"largest": self.largest}

    joined, _ = windows_of(rides, 10 * SECOND, 10 * SECOND, ALLOWED)
    late_by = rides["at"].cummax() - rides["at"]
    expected = [(end, late_by[rows].max()) for end, rows in joined.items()]
    frame = pd.DataFrame(expected, columns=["ts", "largest"])
    assert_rows(answer_of(Lateness, tmp_path), frame[frame.ts <= rides["at"].max()])


RIDES = {"at": [1, 2], "zone": [1, 1], "late_by": [1, 1]}
KEEP = {"out_of_order": "1 ms", "late": "keep"}


def table(**meaning):
    return lab.arrays(RIDES, ts="at", time_format="ms", **meaning)


def rides_by_zone(source, **more):
    return lab.window("5 ms", input=source, result={"n": lab.count()}, **more)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda: rides_by_zone(table(), allowed_lateness="1 s"),
            r"allowed_lateness is '1 s', but table arrays has no late rows; give a table with them, such as",
        ),
        (
            lambda: rides_by_zone(table(**KEEP), allowed_lateness="soon"),
            "allowed_lateness is 'soon'",
        ),
        (
            lambda: rides_by_zone(table(**KEEP)),
            r"late_by is the lateness of a row, and table arrays has",
        ),
        (
            lambda: lab.session("5 ms", input=table(**KEEP), result={"n": lab.count()}),
            r'has late="keep", and only lab.window and lab.select read late rows; give late="drop"',
        ),
        (
            lambda: rides_by_zone(table(**KEEP, columns={"late_by": "zone"})),
            "columns of table arrays has late_by, which is the lateness of a row; give another name",
        ),
        (lambda: lab.late_rows(rides_by_zone(table())), "takes no late rows; give a lab.window"),
        (lambda: lab.late_rows(table()), "takes no late rows; give a lab.window"),
    ],
)
def test_reading_lateness_without_late_rows_is_refused(declare, message):
    with pytest.raises(ModelError, match=message):
        declare()
