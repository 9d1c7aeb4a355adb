"""Items viewed together: the sessions that hold the wanted item, and counts of their others."""

import polars as pl

from streamlab.engines.polars.ranking import lists_so_far
from streamlab.engines.polars.sessions import closed_sessions
from streamlab.engines.polars.tables import Tables


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank."""
    wanted = tables.number("item")
    clicks = tables.events(0, "user", "item").filter(pl.col("user") != 0)
    viewed = (
        closed_sessions(clicks, tables.number("gap_ms"))
        .unique(["session", "item"], keep="first", maintain_order=True)
        .filter(pl.int_range(pl.len()).over("session") < tables.number("most_items"))
    )
    holding = viewed.filter(pl.col("item") == wanted).select("session")
    seen = (
        viewed.filter(pl.col("item") != wanted)
        .join(holding, on="session", how="semi")
        .select(pl.col("end").alias("ts"), pl.col("item").alias("other"))
    )
    return lists_so_far(seen, wanted, tables.number("top"), tables.number("hour_ms"))
