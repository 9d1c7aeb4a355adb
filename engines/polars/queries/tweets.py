"""Aggregates the keys of tweets over sliding windows."""

import math

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.paircount.program import FIRST


def wordcount(tables: Tables) -> pl.LazyFrame:
    """Return (ts, word, count) by window."""
    words = pl.col("words") if tables.counts_bag else pl.col("words").list.unique()
    tweets = tables.events(0, "words").select("ts", words.alias("key"))
    keyed = tweets.explode("key").drop_nulls("key")
    count = pl.len().cast(pl.Int64).alias("value")
    return _aggregate_windows(tables, keyed, count, pl.col("value").sum()).rename(
        {"key": "word", "value": "count"}
    )


def paircount(tables: Tables) -> pl.LazyFrame:
    """Return (ts, pair, count) by window.

    Pairs the column of words with shifted copies of itself. Only a tweet with a repeated word can repeat a pair, so
    only such tweets need `unique`. If pairs are a bag, none does.
    """
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
    return _aggregate_windows(tables, pairs, count, pl.col("value").sum()).rename(
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


def longest_tweet_per_hashtag(tables: Tables) -> pl.LazyFrame:
    """Return (ts, hashtag, chars) by window."""
    tweets = tables.events(0, "hashtags", "chars")
    keyed = tweets.select("ts", "chars", pl.col("hashtags").alias("key")).explode("key")
    longest = pl.col("chars").max().clip(0).alias("value")
    values = _aggregate_windows(tables, keyed.drop_nulls("key"), longest, pl.col("value").max())
    return values.rename({"key": "hashtag", "value": "chars"})


def _aggregate_windows(
    tables: Tables, keyed: pl.LazyFrame, pane_value: pl.Expr, window_value: pl.Expr
) -> pl.LazyFrame:
    """Return (ts, key, value) of each key in each expired window, by window, then key.

    A window [n WA, n WA + WS) has expired when its right boundary, `ts`, is at most the time of the last event.
    Aggregates first per pane, then over the panes of each window. Panes are the longest pieces of time that no window
    boundary splits. Each event is read once, however many windows contain it.
    `keyed` has `ts`, `key` and the columns that `pane_value` reads; both aggregates are named `value`.
    """
    advance, size = tables.number("wa_ms"), tables.number("ws_ms")
    pane = math.gcd(advance, size)
    watermark = tables.events(0).select(pl.col("ts").max().alias("watermark"))
    panes = keyed.group_by((pl.col("ts") // pane).alias("pane"), "key").agg(pane_value)
    # Windows n with n WA <= pane begin and pane end <= n WA + WS.
    begin = pl.col("pane") * pane
    newest = begin // advance
    oldest = -((size - pane - begin) // advance)
    windows = panes.select("key", "value", n=pl.int_ranges(oldest, newest + 1)).explode("n")
    return (
        windows.select((pl.col("n") * advance + size).alias("ts"), "key", "value")
        .join(watermark, how="cross")
        .filter(pl.col("ts") <= pl.col("watermark"))
        .group_by("ts", "key")
        .agg(window_value)
        .sort("ts", "key")
    )
