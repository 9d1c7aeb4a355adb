"""Word counts: the different words of each tweet, counted by pane and word."""

import polars as pl

from engines.polars.tables import Tables
from engines.polars.windows import aggregated


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, word, count) by window."""
    words = tables.events(0, "words").select("ts", pl.col("words").list.unique().alias("key"))
    keyed = words.explode("key").drop_nulls("key")
    count = pl.len().cast(pl.Int64).alias("value")
    return aggregated(tables, keyed, count, pl.col("value").sum()).rename(
        {"key": "word", "value": "count"}
    )
