"""Chains of steps on rows and on windows, on the reference engine and on multicore, against pandas written apart."""

import pandas as pd
import pytest

import streamlab as lab
from streamlab.workloads.model import ModelError
from streamlab.workloads.model.check import check
from tests.workloads.declarative.declared_runs import (
    MINUTE,
    answer_of,
    assert_rows,
    random_rides,
    table_of,
)

QUARTER = 15 * MINUTE
RIDES = random_rides(1)
TABLE = table_of(RIDES)
COUNT = {"n": lab.count()}


def in_windows(rows: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return rows with the end of their window, without those of windows that are open at the end."""
    ends = rows.assign(ts=rows["at"] // size * size + size)
    return ends[ends.ts <= RIDES["at"].max()]


def shares() -> pd.DataFrame:
    grouped = in_windows(RIDES, QUARTER).groupby(["ts", "station"])
    frame = grouped.agg(rides=("bike", "size"), paid=("paid", "sum")).reset_index()
    return frame.assign(share=frame.paid / frame.rides)


def counted(**more):
    result = {"rides": lab.count(), "paid": lab.sum("paid")}
    return lab.window("15 min", key="station", input=TABLE, result=result, name="counted", **more)


def with_shares(**more):
    columns = {"station": "station", "share": "paid / rides"}
    return lab.select(columns, input=counted(), name="shares", **more)


@pytest.mark.parametrize("named", [True, False], ids=["aggregates", "class"])
def test_windows_read_selected_rows(named, tmp_path):
    minutes = lab.select(
        {"station": "station", "minutes": "duration / 60"},
        where="paid",
        input=TABLE,
        name="minutes",
    )
    if named:
        subject = lab.window(
            "15 min", key="station", input=minutes, result={"sum": lab.sum("minutes")}, name="sums"
        )
    else:

        @lab.window("15 min", key="station", input=minutes, name="sums")
        class Sums:
            total: float

            def add(self, row):
                self.total += row.minutes

            def result(self):
                return {"sum": self.total}

        subject = Sums
    rows = in_windows(RIDES[RIDES.paid].assign(minutes=RIDES.duration / 60), QUARTER)
    expected = rows.groupby(["ts", "station"]).minutes.sum().reset_index(name="sum")
    assert_rows(answer_of(subject, tmp_path), expected)


def test_windows_count_unique_visitors(tmp_path):
    first = lab.deduplicate(
        key="bike", within="30 min", columns=["station"], input=TABLE, name="first"
    )
    subject = lab.window("15 min", input=first, result={"bikes": lab.count()}, name="unique")
    left, kept = {}, []
    for ride in RIDES.itertuples():
        if ride.at - left.get(ride.bike, -(10**18)) > 30 * MINUTE:
            left[ride.bike] = ride.at
            kept.append({"at": ride.at})
    expected = in_windows(pd.DataFrame(kept), QUARTER).groupby("ts").size()
    assert_rows(answer_of(subject, tmp_path), expected.reset_index(name="bikes"))


def test_a_ratio_of_aggregates_is_selected_and_filtered(tmp_path):
    subject = with_shares(where="rides > 2")
    expected = shares().query("rides > 2")[["ts", "station", "share"]]
    assert_rows(answer_of(subject, tmp_path), expected)


def test_an_alert_when_windows_have_satisfied_a_condition(tmp_path):
    subject = lab.alert(
        "share >= 0.4", lasting="30 min", key="station", input=with_shares(), name="high"
    )
    alerts = []
    for station, rows in shares().groupby("station"):
        for _, run in rows.groupby((rows.share < 0.4).cumsum()):
            run = run[run.share >= 0.4]
            late = run[run.ts - run.ts.min() >= 2 * QUARTER]
            if len(late):
                alerts.append((late.ts.iloc[0], station, run.ts.iloc[0]))
    expected = pd.DataFrame(alerts, columns=["ts", "station", "since"])
    assert_rows(answer_of(subject, tmp_path), expected)


def test_windows_are_deduplicated_and_counted(tmp_path):
    busy = lab.deduplicate(
        key="station", within="20 min", columns=["rides"], input=counted(), name="busy"
    )
    subject = lab.count_window(
        2, key="station", input=busy, result={"rides": lab.sum("rides")}, name="pairs"
    )
    found = []
    for station, rows in shares().groupby("station"):
        left, kept = -(10**18), []
        for row in rows.itertuples():
            if row.ts - left > 20 * MINUTE:
                left = row.ts
                kept.append(row)
        for first, second in zip(kept[::2], kept[1::2], strict=False):
            found.append((second.ts, station, first.rides + second.rides))
    assert_rows(
        answer_of(subject, tmp_path), pd.DataFrame(found, columns=["ts", "station", "rides"])
    )


def test_a_chain_satisfies_the_laws_of_its_model():
    first = lab.deduplicate(key="bike", columns=["station", "paid"], input=TABLE, name="first")
    counts = lab.window(
        "15 min",
        key="station",
        input=lab.select(["station", "paid"], input=first, name="rows"),
        result={"rides": lab.count(), "paid": lab.sum("paid")},
        at_end="flush",
        name="counts",
    )
    subject = lab.alert("rides > paid", lasting="15 min", key="station", input=counts, name="laws")
    report = check(subject.program, examples=20)
    assert not report.violations, report.render()


def test_a_mixed_chain_that_loses_an_order_names_both_steps_and_a_remedy():
    bikes = lab.deduplicate(key="bike", columns=["station"], input=TABLE, name="bikes")
    fives = lab.count_window(5, key="station", input=bikes, result={"n": lab.count()}, name="fives")
    with pytest.raises(
        ModelError, match=r"fives depends .* bikes has one for each bike only; give"
    ):
        lab.window("1 h", input=fives, result={"n": lab.count()}, name="hours")
    with pytest.raises(ModelError, match=r"counted has one for each station .* key='station'"):
        lab.alert("rides > 3", lasting="1 h", input=counted(), name="all")
    unkeyed = lab.select(["rides"], input=counted(), name="unkeyed")
    with pytest.raises(
        ModelError, match=r"unkeyed gives rows of equal time in no order, and all depends"
    ):
        lab.alert("rides > 3", lasting="1 h", input=unkeyed, name="all")
    renamed = lab.select({"place": "station", "rides": "rides"}, input=counted(), name="renamed")
    lab.alert("rides > 3", lasting="1 h", key="place", input=renamed, name="all")


def joined(how="inner", **more):
    sales = RIDES.sample(60, random_state=1).sort_values("at")
    sales = pd.DataFrame({"at": sales["at"] + 30_000, "bike": sales.bike, "cents": sales.duration})
    tables = TABLE, table_of(sales)
    subject = lab.join(
        *tables,
        on="bike",
        within=("0 s", "2 min"),
        how=how,
        select={"station": "left.station", "price": "left.price", "cents": "right.cents"},
        name="joined",
        **more,
    )
    return subject, sales


def test_windows_of_joined_rows(tmp_path):
    join, sales = joined()
    subject = lab.window(
        "15 min",
        key="station",
        input=join,
        where="price > 1",
        result={"pairs": lab.count(), "revenue": lab.sum("cents")},
        name="revenue",
    )
    pairs = RIDES.merge(sales, on="bike", suffixes=("", "_sale"))
    late = pairs.at_sale - pairs["at"]
    pairs = pairs[(late >= 0) & (late <= 2 * MINUTE) & (pairs.price > 1)]
    ends = pairs.at_sale // QUARTER * QUARTER + QUARTER  # 1 ms after the sale, in no other window
    grouped = pairs.assign(ts=ends).groupby(["ts", "station"])
    expected = grouped.agg(pairs=("cents", "size"), revenue=("cents", "sum")).reset_index()
    last = max(RIDES["at"].max(), sales["at"].max())
    assert_rows(answer_of(subject, tmp_path), expected[expected.ts <= last])


def test_an_outer_join_is_selected_and_counted(tmp_path):
    join, sales = joined("left", every="1 min")
    alone = lab.select(["station"], where="not matched", input=join, name="alone")
    subject = lab.window(
        "30 min", key="station", input=alone, result={"rides": lab.count()}, name="unsold"
    )
    pairs = RIDES.reset_index().merge(sales, on="bike", suffixes=("", "_sale"))
    late = pairs.at_sale - pairs["at"]
    sold = pairs[(late >= 0) & (late <= 2 * MINUTE)]["index"]
    rides = RIDES.drop(index=sold.unique())
    leave = (rides["at"] + 2 * MINUTE) // MINUTE * MINUTE + MINUTE
    size = 30 * MINUTE
    rows = rides.assign(ts=leave // size * size + size)
    expected = rows.groupby(["ts", "station"]).size().reset_index(name="rides")
    last = max(RIDES["at"].max(), sales["at"].max())
    assert_rows(answer_of(subject, tmp_path), expected[expected.ts <= last])


def test_a_step_that_cannot_follow_a_join_names_it():
    with pytest.raises(ModelError, match=r"which is an as-of join; give .* another join"):
        lab.window("1 h", input=lab.join(TABLE, TABLE, on="bike", how="asof"), result=COUNT)
    with pytest.raises(ModelError, match=r"joined gives rows of equal time in no order, and once"):
        lab.deduplicate(key="station", input=joined()[0], name="once")
    with pytest.raises(ModelError, match=r"makes sessions of joined, which is a join"):
        lab.session("1 h", input=joined()[0], result=COUNT, name="visits")
