"""Computes top lists of pairs of items, at the end of every hour."""

import polars as pl


def hours_of(pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Return (hour, ts) of each hour with pairs, where `ts` is the time of the first pair of the next such hour.

    The last hour is omitted.
    """
    first = pairs.group_by("hour").agg(pl.col("ts").min()).sort("hour")
    return first.select("hour", pl.col("ts").shift(-1)).drop_nulls("ts")


def top_lists(counts: pl.LazyFrame, top: int, hour_ms: int) -> pl.LazyFrame:
    """Return the top lists of all hours, by hour, then rank.

    `counts` has `hour`, `ts` (the list's time), `item_1`, `item_2` and `count`.
    """
    rank = pl.int_range(1, pl.len() + 1).over("hour").alias("rank")
    return (
        counts.sort("hour", "count", "item_1", "item_2", descending=[False, True, False, False])
        .with_columns(rank)
        .filter(pl.col("rank") <= top)
        .select(
            "ts",
            (pl.col("hour") * hour_ms).alias("since"),
            "rank",
            "item_1",
            "item_2",
            "count",
        )
    )


def running_lists(partners: pl.LazyFrame, item: int, top: int, hour_ms: int) -> pl.LazyFrame:
    """Return the top lists of all pairs so far, at the end of every hour.

    `partners` has `ts` and `other`, an item that occurred with `item`, the first item of all pairs.
    """
    pairs = partners.with_columns((pl.col("ts") // hour_ms).alias("hour"))
    new = pairs.group_by("hour", "other").agg(pl.len().cast(pl.Int64).alias("new"))
    # Every hour has a list of all items so far, including items without events in that hour.
    every = hours_of(pairs).join(new.select("other").unique(), how="cross")
    counts = (
        every.join(new, on=["hour", "other"], how="left")
        .sort("other", "hour")
        .with_columns(pl.col("new").fill_null(0).cum_sum().over("other").alias("count"))
        .filter(pl.col("count") > 0)
        .select(
            "hour", "ts", pl.lit(item).alias("item_1"), pl.col("other").alias("item_2"), "count"
        )
    )
    return top_lists(counts, top, hour_ms)
