"""Counts items sold together: groups runs of lines into tickets and pairs the distinct items of each.

A ticket ends when another ticket takes its place, which is the ticket's number modulo `open_tickets`. Tickets are
therefore runs of equal numbers among the lines of a place.
"""

import polars as pl

from streamlab.engines.polars.ranking import hours_of, top_lists
from streamlab.engines.polars.tables import Tables


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank."""
    hour_ms = tables.number("hour_ms")
    pairs = _pairs(tables).with_columns((pl.col("ts") // hour_ms).alias("hour"))
    counts = (
        pairs.group_by("hour", "item_1", "item_2")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .filter(pl.col("count") > tables.number("more_than"))
        .join(hours_of(pairs), on="hour")
    )
    return top_lists(counts, tables.number("top"), hour_ms)


def _pairs(tables: Tables) -> pl.LazyFrame:
    """Return (ts, item_1, item_2) of all pairs of a ticket, at the time of the later item."""
    place, ticket = pl.col("place"), pl.col("ticket")
    items = (
        tables.events(0, "ticket", "item", "store", "category")
        .filter(tables.among("stores", "store") & tables.among("categories", "category"))
        .with_columns((ticket % tables.number("open_tickets")).alias("place"))
        .sort("place", maintain_order=True)
        .with_columns(
            (place.ne_missing(place.shift()) | ticket.ne_missing(ticket.shift()))
            .cum_sum()
            .alias("run")
        )
        .unique(["run", "item"], keep="first", maintain_order=True)
        .select("ts", "item", "run", pl.int_range(pl.len()).over("run").alias("nth"))
        .filter(pl.col("nth") < tables.number("most_items"))
    )
    return (
        items.join(items, on="run", suffix="_before")
        .filter(pl.col("nth_before") < pl.col("nth"))
        .select(
            "ts",
            pl.min_horizontal("item", "item_before").alias("item_1"),
            pl.max_horizontal("item", "item_before").alias("item_2"),
        )
    )
