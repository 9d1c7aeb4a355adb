"""Computes the band join by bins: matching tuples share a bin of both attributes and of time.

A left tuple is copied to all bins that its bands and its window reach: two each, so eight. Then the exact conditions
are tested.
"""

from itertools import product

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from streamlab.workloads.suite.scale_join.program import BAND

_WIDTH = 2 * BAND + 1
"""Width of a bin: a band, which is 2 x BAND wide, reaches two bins."""


def answer(tables: Tables) -> pl.LazyFrame:
    """Return all pairs, by time."""
    window = tables.number("ws_ms")
    long = 2 * window + 1
    x, y, ts = pl.col("x").cast(pl.Int64), pl.col("y").cast(pl.Float64), pl.col("ts")
    left = tables.events(0, *(LEFT.names or ()))
    copies = [
        left.select(
            pl.col("ts").alias("left_ts"),
            *(LEFT.names or ()),
            ((x - BAND) // _WIDTH + first).alias("first"),
            (((y - BAND) / _WIDTH).floor().cast(pl.Int64) + second).alias("second"),
            ((ts - window) // long + third).alias("third"),
        )
        for first, second, third in product((0, 1), repeat=3)
    ]
    right = tables.events(1, *(RIGHT.names or ())).with_columns(
        (pl.col("a").cast(pl.Int64) // _WIDTH).alias("first"),
        (pl.col("b").cast(pl.Float64) / _WIDTH).floor().cast(pl.Int64).alias("second"),
        (ts // long).alias("third"),
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
