"""Finds sessions with abandoned carts by their last pages of two types, then computes running sums."""

import polars as pl

from streamlab.engines.polars.sessions import closed_sessions
from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.retail.schema import DYNAMIC, ORDER


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, sessions, pages, average) after every abandoned session."""
    clicks = tables.events(0, "user", "sale", "page")
    unsold = clicks.filter((pl.col("user") != 0) & (pl.col("sale") == 0)).drop("sale")

    def latest(page: int) -> pl.Expr:
        row = pl.col("row").cast(pl.Int64)
        return row.filter(pl.col("page") == page).max().fill_null(-1)

    sessions = (
        closed_sessions(unsold, tables.number("gap_ms"))
        .group_by("session")
        .agg(
            pl.col("end", "end_row").first(),
            pl.len().cast(pl.Int64).alias("length"),
            latest(ORDER).alias("order"),
            latest(DYNAMIC).alias("dynamic"),
        )
    )
    count, pages = pl.int_range(1, pl.len() + 1), pl.col("length").cum_sum()
    return (
        sessions.filter(pl.col("dynamic") > pl.col("order"))
        .sort("end_row")
        .select(
            pl.col("end").alias("ts"),
            count.alias("sessions"),
            pages.alias("pages"),
            (pages / count).alias("average"),
        )
    )
