"""Lists of the pairs of items that were counted most often, at the end of every hour."""

import polars as pl


def hours_of(pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Return (hour, ts): each hour of some pairs, and the first pair's time in a later one.

    The last hour has no later one and is left out.
    """
    first = pairs.group_by("hour").agg(pl.col("ts").min()).sort("hour")
    return first.select("hour", pl.col("ts").shift(-1)).drop_nulls("ts")


def listed(counts: pl.LazyFrame, top: int, hour_ms: int) -> pl.LazyFrame:
    """Return the lists of all hours, by hour, then rank.

    Args:
        counts: `hour`, `ts` (the list's time), `item_1`, `item_2` and `count`.
        top: length of a list.
        hour_ms: length of an hour.
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


def lists_so_far(seen: pl.LazyFrame, item: int, top: int, hour_ms: int) -> pl.LazyFrame:
    """Return the lists of everything so far, at the end of every hour.

    Args:
        seen: `ts` and `other`, the item that was seen with `item`.
        item: the first item of all pairs.
        top: length of a list.
        hour_ms: length of an hour.
    """
    pairs = seen.with_columns((pl.col("ts") // hour_ms).alias("hour"))
    new = pairs.group_by("hour", "other").agg(pl.len().cast(pl.Int64).alias("new"))
    # Every hour has a list, of all items so far: also of those that it has not seen.
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
    return listed(counts, top, hour_ms)
