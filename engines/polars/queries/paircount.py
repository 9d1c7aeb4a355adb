"""Counts pairs of nearby words by pairing the column of words with shifted copies of itself.

Only a tweet with a repeated word can repeat a pair, so only such tweets need `unique`. If pairs are a bag, none does.
"""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.engines.polars.windows import aggregate_windows
from streamlab.workloads.suite.paircount.program import FIRST


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, pair, count) by window."""
    tweets = tables.events(0, "words").with_row_index("tweet").collect()
    distance = tables.number("distance")
    farthest = int(tweets["words"].list.len().max() or 1) - 1  # type: ignore[arg-type]
    farthest = min(farthest, distance) if distance else farthest
    if tables.counts_bag:
        pairs = _pairs(tweets, farthest)
    else:
        repeats = tweets["words"].list.n_unique() < tweets["words"].list.len()
        pairs = pl.concat(
            [
                _pairs(tweets.filter(~repeats), farthest),
                _pairs(tweets.filter(repeats), farthest).unique(),
            ]
        )
    count = pl.len().cast(pl.Int64).alias("value")
    return aggregate_windows(tables, pairs, count, pl.col("value").sum()).rename(
        {"key": "pair", "value": "count"}
    )


def _pairs(tweets: pl.DataFrame, farthest: int) -> pl.LazyFrame:
    """Return (tweet, ts, key) of the pairs of words at most `farthest` apart, in any order."""
    words = tweets.lazy().explode("words").drop_nulls("words")
    first = pl.col("words").cast(pl.Int64) * FIRST
    parts = [
        words.select("tweet", "ts", (first + pl.col("words").shift(-apart)).alias("key")).filter(
            pl.col("tweet") == pl.col("tweet").shift(-apart)
        )
        for apart in range(1, farthest + 1)
    ]
    empty = pl.LazyFrame(schema={"tweet": pl.UInt32, "ts": pl.Int64, "key": pl.Int64})
    return pl.concat([empty, *parts])
