"""Aggregates for each key over sliding windows: counted by pane first, then panes put together.

A pane is the greatest piece that every window holds whole: events are looked at once, however many
windows they are in.
"""

import math

import polars as pl

from streamlab.engines.polars.tables import Tables


def aggregated(tables: Tables, keyed: pl.LazyFrame, value: pl.Expr, whole: pl.Expr) -> pl.LazyFrame:
    """Return (ts, key, value) of each key in each window that has expired, by window, then key.

    A window [n WA, n WA + WS) has expired when its right boundary, which is `ts`, is at most the
    time of the last event.

    Args:
        tables: the input, with `wa_ms` and `ws_ms` among the parameters.
        keyed: `ts`, `key` and what `value` reads: a row for each key of an event.
        value: a pane's aggregate, named `value`.
        whole: a window's aggregate from its panes' `value`, of the same name.
    """
    advance, size = tables.number("wa_ms"), tables.number("ws_ms")
    pane = math.gcd(advance, size)
    watermark = tables.events(0).select(pl.col("ts").max().alias("watermark"))
    panes = keyed.group_by((pl.col("ts") // pane).alias("pane"), "key").agg(value)
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
        .agg(whole)
        .sort("ts", "key")
    )
