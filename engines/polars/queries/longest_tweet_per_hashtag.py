"""The longest tweet of each hashtag: a maximum by pane and hashtag."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.engines.polars.windows import aggregated


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, hashtag, chars) by window."""
    tweets = tables.events(0, "hashtags", "chars")
    keyed = tweets.select("ts", "chars", pl.col("hashtags").alias("key")).explode("key")
    longest = pl.col("chars").max().clip(0).alias("value")
    found = aggregated(tables, keyed.drop_nulls("key"), longest, pl.col("value").max())
    return found.rename({"key": "hashtag", "value": "chars"})
