"""Joins on several columns, expressions of both sides, and texts of joined rows, compared with pandas."""

import numpy as np
import pandas as pd
import pytest

import streamlab as lab
from streamlab.workloads.model import ModelError
from tests.workloads.declarative.declared_runs import (
    MINUTE,
    answer_of,
    assert_rows,
    random_rides,
    table_of,
)
from tests.workloads.join_tables import latest_before, left_within, pairs_within

BY = ["station", "zone"]
RIDES = random_rides(seed=11, rows=120).assign(zone=lambda rides: rides.bike % 3)
SALES = pd.DataFrame(
    {
        "at": RIDES["at"] + 30_000,
        "station": RIDES.station.shift(1).fillna("5 Av"),
        "zone": RIDES.zone,
        "paid": RIDES.paid,
        "cents": RIDES.duration % 700 - 200,
        "page": ["home", "shop", "cups", "tea"] * 30,
    }
)
LENGTH, EVERY = 10 * MINUTE, MINUTE
SELECT = {
    "bike": "left.bike",
    "gain": "left.price - right.cents / 100",
    "later": "right.at - left.at",
    "rate": "right.cents / (left.duration - left.duration)",
    "shop": "right.page in ('shop', 'cups') and left.station != 'Broadway'",
    "other": "not right.paid",
    "page": "right.page",
}


def joined(how, sales=SALES, **more):
    sales = sales.rename(columns={"station": "place"})
    on = [("station", "place"), "zone"]
    tables = table_of(RIDES), table_of(sales)
    return lab.join(*tables, on=on, how=how, select=SELECT, name="joined", **more)


def expected(how):
    if how == "asof":
        rows = latest_before(RIDES, SALES, LENGTH, by=BY).assign(ts=lambda rows: rows["at"])
    elif how == "inner":
        rows = pairs_within(RIDES, SALES, LENGTH, LENGTH, by=BY)
        rows = rows.assign(ts=rows[["at", "at_right"]].max(axis=1) + 1)
    else:
        rows = left_within(RIDES, SALES, LENGTH, LENGTH, EVERY, by=BY)
        leaves = (rows["at"] + LENGTH) // EVERY * EVERY + EVERY
        pairs = rows[["at", "at_right"]].max(axis=1) // EVERY * EVERY + EVERY
        rows = rows.assign(ts=leaves.where(rows.at_right.isna(), pairs).astype(np.int64))
    paid = rows.paid_right.eq(True)
    cents = rows.cents.fillna(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = cents.to_numpy(np.float64) / np.zeros(len(rows))
    columns = {
        "ts": rows.ts,
        "station": rows.station,
        "zone": rows.zone,
        "bike": rows.bike,
        "gain": rows.price - cents / 100,
        "later": rows.at_right.fillna(0).astype(np.int64) - rows["at"],
        "rate": rate,
        "shop": rows.page.isin(["shop", "cups"]) & (rows.station != "Broadway"),
        "other": ~paid,
        "page": rows.page.fillna("none"),
    }
    matched = {} if how == "inner" else {"matched": rows.at_right.notna()}
    return pd.DataFrame({**columns, **matched})


@pytest.mark.parametrize("how", ["inner", "left", "asof"])
def test_a_join_on_two_columns_computes_values_of_both_sides(how, tmp_path):
    more = {"every": EVERY} if how == "left" else {}
    actual = answer_of(joined(how, within=LENGTH, **more), tmp_path, workers=(2,))
    actual["page"] = actual.page.replace(-1, "none")
    right = expected(how)
    assert how == "inner" or 0 < right.matched.sum() < len(right)
    assert_rows(actual, right)


def test_texts_of_joined_rows_are_compared_with_texts(tmp_path):
    subject = lab.select(
        {"bike": "bike", "dear": "gain > 0 and page != 'nowhere'"},
        where="page in ('tea', 'home') or station == 'Hudson St'",
        input=joined("inner", within=LENGTH),
        name="chosen",
    )
    rows = expected("inner")
    rows = rows[rows.page.isin(["tea", "home"]) | (rows.station == "Hudson St")]
    right = pd.DataFrame({"ts": rows.ts, "bike": rows.bike, "dear": rows.gain > 0})
    assert_rows(answer_of(subject, tmp_path, workers=(2,)), right)


def test_keys_beyond_their_share_of_bits_end_the_run_in_time_bounds_only(tmp_path):
    wide = [1 << 40, 1 << 40]
    left = pd.DataFrame({"at": [1, 2], "a": wide, "b": [1, 1 << 50], "x": [1, 2]})
    right = pd.DataFrame({"at": [1, 2], "a": wide, "b": [1 << 50, 1], "y": [3, 4]})
    tables = lab.frame(left, ts="at"), lab.frame(right, ts="at")
    asof = lab.join(*tables, on=["a", "b"], how="asof", select={"y": "right.y"}, name="asof")
    assert answer_of(asof, tmp_path, workers=(2,)).y.tolist() == [0, 3]
    inner = lab.join(*tables, on=["a", "b"], within=9, name="inner")
    with pytest.raises((ValueError, ModelError), match="beyond"):
        answer_of(inner, tmp_path, workers=())


def test_texts_that_join_to_the_same_text_are_different_keys(tmp_path):
    left = pd.DataFrame({"at": [5, 6], "a": ["x:1", "x"], "b": ["y", "1:y"]})
    right = pd.DataFrame({"at": [1, 2], "a": ["x", "x:1"], "b": ["1:y", "y"], "n": [7, 8]})
    tables = lab.frame(left, ts="at"), lab.frame(right, ts="at")
    for how, within in (("asof", None), ("inner", 9)):
        subject = lab.join(
            *tables, on=["a", "b"], how=how, within=within, select={"n": "right.n"}, name=how
        )
        assert sorted(answer_of(subject, tmp_path, workers=()).n) == [7, 8]
