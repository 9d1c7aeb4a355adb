"""Counts items viewed together: finds the sessions that contain the item, and counts their other items."""

import polars as pl

from streamlab.engines.polars.ranking import running_lists
from streamlab.engines.polars.sessions import closed_sessions
from streamlab.engines.polars.tables import Tables


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank."""
    item = tables.number("item")
    clicks = tables.events(0, "user", "item").filter(pl.col("user") != 0)
    viewed = (
        closed_sessions(clicks, tables.number("gap_ms"))
        .unique(["session", "item"], keep="first", maintain_order=True)
        .filter(pl.int_range(pl.len()).over("session") < tables.number("most_items"))
    )
    holding = viewed.filter(pl.col("item") == item).select("session")
    partners = (
        viewed.filter(pl.col("item") != item)
        .join(holding, on="session", how="semi")
        .select(pl.col("end").alias("ts"), pl.col("item").alias("other"))
    )
    return running_lists(partners, item, tables.number("top"), tables.number("hour_ms"))
