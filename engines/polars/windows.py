"""Aggregates keys over sliding windows: first per pane, then over the panes of each window.

Panes are the longest pieces of time that no window boundary splits. Each event is read once, however many windows
contain it.
"""

import math

import polars as pl

from streamlab.engines.polars.tables import Tables


def aggregate_windows(
    tables: Tables, keyed: pl.LazyFrame, pane_value: pl.Expr, window_value: pl.Expr
) -> pl.LazyFrame:
    """Return (ts, key, value) of each key in each expired window, by window, then key.

    A window [n WA, n WA + WS) has expired when its right boundary, `ts`, is at most the time of the last event.

    Args:
        tables: the input, with `wa_ms` and `ws_ms` among the parameters.
        keyed: one row per key of an event: `ts`, `key` and the columns that `pane_value` reads.
        pane_value: a pane's aggregate, named `value`.
        window_value: a window's aggregate of its panes' `value`, with the same name.
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
