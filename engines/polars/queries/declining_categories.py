"""Finds declining categories: payments per day, and a least-squares line over days by running sums."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.retail.days import day_number
from streamlab.workloads.inputs.retail.schema import DAY_MS


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, category, day, points, rise, run), in order of the sales that end the days."""
    first, days = day_number(str(tables.params["first_day"])), tables.number("days")
    day = pl.col("ts") // DAY_MS - first
    by_day = (
        tables.events(0, "category", "store", "net_paid")
        .with_row_index("row")
        .filter(tables.among("stores", "store") & (day >= 0))
        .group_by("category", day.clip(upper_bound=days).alias("day"))
        .agg(pl.col("row", "ts").first(), pl.col("net_paid").sum().alias("paid"))
        .sort("category", "day")
    )
    x, y = pl.col("day"), pl.col("paid")

    def upto(value: pl.Expr) -> pl.Expr:
        return value.cum_sum().over("category")

    n = pl.int_range(1, pl.len() + 1).over("category")
    # A day ends with the category's first sale of a later day; the last day has no end.
    ended = by_day.select(
        "category",
        "day",
        pl.col("row", "ts").shift(-1).over("category"),
        n.alias("points"),
        (n * upto(x * y) - upto(x) * upto(y)).alias("rise"),
        (n * upto(x * x) - upto(x) * upto(x)).alias("run"),
    ).drop_nulls("row")
    return (
        ended.filter((pl.col("points") > 1) & (pl.col("rise") <= 0))
        .sort("row")
        .select("ts", "category", "day", "points", "rise", "run")
    )
