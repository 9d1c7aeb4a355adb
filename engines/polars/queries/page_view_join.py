"""Joins page views: an as-of join of each view stream with the updates of its page."""

import polars as pl

from streamlab.engines.polars.markers import Cut, cut, last
from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW


def answer(tables: Tables) -> list[pl.DataFrame]:
    """Return updates with the metadata that they replace, and each stream's views with their metadata."""
    streams = cut(tables)
    updates = streams.in_order("meta").with_columns(pl.col("meta").cast(pl.Int32))
    replaced = updates.select(
        "ts",
        pl.lit(UPDATE, pl.Int8).alias("kind"),
        pl.col("key").alias("page"),
        pl.lit(NO_USER, pl.Int32).alias("user"),
        pl.col("meta").shift(1).over("key").fill_null(0),
        "src",
    )
    return [replaced, *(_views(streams, src, table, updates) for src, table in streams.bulk)]


def _views(streams: Cut, src: int, table: pl.DataFrame, updates: pl.DataFrame) -> pl.DataFrame:
    # An update applies from the first event time of the stream after it.
    since = updates.select((last(src) + 1).alias("since").set_sorted(), "key", "meta")
    views = table.select("ts", streams.key(table), "user")
    return views.join_asof(
        since, left_on="ts", right_on="since", by="key", check_sortedness=False
    ).select(
        "ts",
        pl.lit(VIEW, pl.Int8).alias("kind"),
        pl.col("key").alias("page"),
        "user",
        pl.col("meta").fill_null(0),
        pl.lit(src, pl.Int16).alias("src"),
    )
