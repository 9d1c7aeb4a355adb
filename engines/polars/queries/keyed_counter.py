"""Computes keyed counters: joins each increment with the next reset of its key (as-of), and counts."""

import polars as pl

from streamlab.engines.polars.markers import Cut, cut, last
from streamlab.engines.polars.tables import Tables


def answer(tables: Tables) -> list[pl.DataFrame]:
    """Return one count per reset."""
    streams = cut(tables)
    resets = streams.in_order().with_row_index("reset")
    parts = [_counts(streams, src, table, resets) for src, table in streams.bulk]
    empty = pl.DataFrame(schema={"reset": pl.UInt32, "count": pl.Int64})
    counts = pl.concat([empty, *parts]).group_by("reset").sum()
    joined = resets.join(counts, on="reset", how="left", maintain_order="left")
    return [joined.select("ts", "key", pl.col("count").fill_null(0), "src")]


def _counts(streams: Cut, src: int, table: pl.DataFrame, resets: pl.DataFrame) -> pl.DataFrame:
    until = resets.select(last(src).alias("until").set_sorted(), "key", "reset")
    return (
        table.select("ts", streams.key(table))
        .join_asof(
            until,
            left_on="ts",
            right_on="until",
            by="key",
            strategy="forward",
            check_sortedness=False,
        )
        .drop_nulls("reset")
        .group_by("reset")
        .agg(pl.len().cast(pl.Int64).alias("count"))
    )
