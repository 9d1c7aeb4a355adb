"""Counts words: the words of each tweet (distinct or all), per pane and word."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.engines.polars.windows import aggregate_windows


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, word, count) by window."""
    words = pl.col("words") if tables.counts_bag else pl.col("words").list.unique()
    tweets = tables.events(0, "words").select("ts", words.alias("key"))
    keyed = tweets.explode("key").drop_nulls("key")
    count = pl.len().cast(pl.Int64).alias("value")
    return aggregate_windows(tables, keyed, count, pl.col("value").sum()).rename(
        {"key": "word", "value": "count"}
    )
