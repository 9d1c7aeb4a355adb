"""Computes the joins, `forward`, the windows over tweets, and Linear Road's filters."""

import math
from itertools import product

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.linear_road import schema
from streamlab.workloads.suite.forward.generate import FIELDS
from streamlab.workloads.suite.paircount.program import FIRST
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from streamlab.workloads.suite.scale_join.program import BAND


def forward(tables: Tables) -> pl.LazyFrame:
    """Return (ts, id, value), each tuple `copies` times."""
    fields = FIELDS.names or ()
    events = pl.concat([tables.events(kind, *fields) for kind in range(tables.kinds)])
    copies = pl.LazyFrame({"copy": range(tables.number("copies"))})
    return (
        events.sort("ts", maintain_order=True)
        .with_columns(pl.col("ts") + 1)
        .join(copies, how="cross", maintain_order="left")
        .drop("copy")
    )


_MARGIN = 1e-9
"""Relative margin by which `nyse_hedge` widens the range of d; the rounding error of quotients is below 1e-15."""

_OUTPUT = {
    "ts": pl.Int64,
    "l_id": pl.Int32,
    "l_price": pl.Int32,
    "r_id": pl.Int32,
    "r_price": pl.Int32,
}


def nyse_hedge(tables: Tables) -> pl.DataFrame:
    """Return (ts, l_id, l_price, r_id, r_price), by time.

    With d = (price - average) / average, a pair matches if the right trade's d is between `lower` and `upper` times the
    left trade's d. Left trades are taken in spans of one window length. An inequality join on d compares each span
    with the right trades near in time. The quotients are rounded, so the range of d is widened a little, and the exact
    condition is tested on the result.
    """
    window = tables.number("ws_ms")
    left, right = (
        _candidates(tables.events(kind, "id", "price", "average"), kind).collect()
        for kind in (0, 1)
    )
    bounds = [float(tables.params[name]) for name in ("lower", "upper")]
    ends = [pl.col("l_distance") * bound for bound in bounds]
    lower_bound, upper_bound = pl.min_horizontal(*ends), pl.max_horizontal(*ends)
    left = left.with_columns(
        (lower_bound - lower_bound.abs() * _MARGIN).alias("least"),
        (upper_bound + upper_bound.abs() * _MARGIN).alias("most"),
    )
    parts = [pl.DataFrame(schema=_OUTPUT)]
    begin = 0
    while begin < len(left):
        first_ts = left["l_ts"][begin]
        end = int(left["l_ts"].search_sorted(first_ts + window, side="right"))
        low = int(right["r_ts"].search_sorted(first_ts - window, side="left"))
        high = int(right["r_ts"].search_sorted(left["l_ts"][end - 1] + window, side="right"))
        left_part, right_part = left[begin:end].lazy(), right[low:high].lazy()
        parts.append(_hedges(left_part, right_part, window, bounds).collect())
        begin = end
    return pl.concat(parts).sort("ts", maintain_order=True)


def _candidates(trades: pl.LazyFrame, kind: int) -> pl.LazyFrame:
    """Return the trades that can match, with their distances; columns have the prefix `l_` or `r_`."""
    price, average = (pl.col(name).cast(pl.Int64) for name in ("price", "average"))
    can_match = (average != 0) if kind else (average != 0) & (price != average)
    return (
        trades.filter(can_match)
        .with_columns(
            (price - average).alias("moved"),
            average.cast(pl.Float64).alias("average"),
            ((price - average) / average).alias("distance"),
        )
        .select(pl.all().name.prefix("r_" if kind else "l_"))
    )


def _hedges(
    left: pl.LazyFrame, right: pl.LazyFrame, window: int, bounds: list[float]
) -> pl.LazyFrame:
    num = pl.col("r_moved") * pl.col("l_average")
    den = pl.col("l_moved") * pl.col("r_average")
    low, high = (den * bound for bound in bounds)
    within = num.is_between(pl.min_horizontal(low, high), pl.max_horizontal(low, high))
    return (
        left.join_where(
            right,
            pl.col("r_distance") >= pl.col("least"),
            pl.col("r_distance") <= pl.col("most"),
        )
        .filter(
            (pl.col("l_ts") - pl.col("r_ts")).abs() <= window,
            pl.col("l_id") != pl.col("r_id"),
            within,
        )
        .select(
            (pl.max_horizontal("l_ts", "r_ts") + 1).alias("ts"),
            "l_id",
            "l_price",
            "r_id",
            "r_price",
        )
    )


_WIDTH = 2 * BAND + 1
"""Width of a bin. A band is 2 x BAND wide, so it reaches at most two bins."""


def scale_join(tables: Tables) -> pl.LazyFrame:
    """Return all pairs, by time.

    Bins divide both attributes and the time. A left tuple is copied to all bins that its bands and its window reach:
    two in each of three dimensions, so eight. Then the exact conditions are tested on the tuples of a bin.
    """
    window = tables.number("ws_ms")
    time_width = 2 * window + 1
    x, y, ts = pl.col("x").cast(pl.Int64), pl.col("y").cast(pl.Float64), pl.col("ts")
    left = tables.events(0, *(LEFT.names or ()))
    copies = [
        left.select(
            pl.col("ts").alias("left_ts"),
            *(LEFT.names or ()),
            ((x - BAND) // _WIDTH + first).alias("first"),
            (((y - BAND) / _WIDTH).floor().cast(pl.Int64) + second).alias("second"),
            ((ts - window) // time_width + third).alias("third"),
        )
        for first, second, third in product((0, 1), repeat=3)
    ]
    right = tables.events(1, *(RIGHT.names or ())).with_columns(
        (pl.col("a").cast(pl.Int64) // _WIDTH).alias("first"),
        (pl.col("b").cast(pl.Float64) / _WIDTH).floor().cast(pl.Int64).alias("second"),
        (ts // time_width).alias("third"),
    )
    near = (
        ((x - pl.col("a")).abs() <= BAND)
        & ((y - pl.col("b")).abs() <= BAND)
        & ((pl.col("left_ts") - ts).abs() <= window)
    )
    return (
        pl.concat(copies)
        .join(right, on=["first", "second", "third"])
        .filter(near)
        .select(
            (pl.max_horizontal("left_ts", "ts") + 1).alias("ts"),
            *(LEFT.names or ()),
            *(RIGHT.names or ()),
        )
        .sort("ts")
    )


def linear_road_pos_rep(tables: Tables) -> pl.LazyFrame:
    """Return all position reports."""
    return tables.events(0, *(schema.FIELDS.names or ())).filter(pl.col("type") == schema.REPORT)


_BYTE = 256
"""Direction and segment are below this number, so a place fits in one integer."""


def linear_road_new_seg(tables: Tables) -> pl.LazyFrame:
    """Return the reports of vehicles that enter a segment."""
    reports = tables.events(0, *(schema.FIELDS.names or ())).filter(pl.col("type") == schema.REPORT)
    xway, direction, segment = (pl.col(name).cast(pl.Int64) for name in ("xway", "dir", "seg"))
    place = (xway * _BYTE + direction) * _BYTE + segment
    has_moved = place.ne_missing(place.shift().over("vid"))
    return reports.filter(has_moved)


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

    Pairs the column of words with shifted copies of itself. If pairs are a set, only tweets with a repeated word can
    repeat a pair, so only these need `unique`.
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
    first_word = pl.col("words").cast(pl.Int64) * FIRST
    parts = [
        words.select(
            "tweet", "ts", (first_word + pl.col("words").shift(-distance)).alias("key")
        ).filter(pl.col("tweet") == pl.col("tweet").shift(-distance))
        for distance in range(1, farthest + 1)
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

    Args:
        tables: the input.
        keyed: rows with `ts`, `key` and the columns that `pane_value` reads.
        pane_value: aggregate of a pane, named `value`.
        window_value: aggregate of the values of panes, named `value`.
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
