"""Finds the longest tweet of each hashtag: a maximum per pane and hashtag."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.engines.polars.windows import aggregate_windows


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, hashtag, chars) by window."""
    tweets = tables.events(0, "hashtags", "chars")
    keyed = tweets.select("ts", "chars", pl.col("hashtags").alias("key")).explode("key")
    longest = pl.col("chars").max().clip(0).alias("value")
    values = aggregate_windows(tables, keyed.drop_nulls("key"), longest, pl.col("value").max())
    return values.rename({"key": "hashtag", "value": "chars"})
