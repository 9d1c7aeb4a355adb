"""Finds the last views before each purchase: numbers views by user, and joins purchases by number.

An as-of join finds the number of the latest view before a purchase; the last few views follow from it.
"""

import polars as pl

from streamlab.engines.polars.ranking import running_lists
from streamlab.engines.polars.tables import Tables


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank."""
    item, views = tables.number("item"), tables.number("views")
    clicks = tables.events(0, "user", "item", "sale", "category").filter(pl.col("user") != 0)
    clicks = clicks.with_row_index("row").with_columns(pl.col("row").set_sorted())
    viewed = clicks.filter(
        (pl.col("sale") == 0) & tables.among("categories", "category")
    ).with_columns(pl.int_range(1, pl.len() + 1).over("user").alias("nth"))
    bought = clicks.filter((pl.col("sale") != 0) & (pl.col("item") == item))
    latest = bought.select("row", "user", "ts").join_asof(
        viewed.select("row", "user", "nth"), on="row", by="user", check_sortedness=False
    )
    last_views = (
        latest.drop_nulls("nth")
        .select(
            pl.col("ts").alias("bought"),
            "user",
            pl.int_ranges(pl.max_horizontal(pl.col("nth") - views, 0) + 1, pl.col("nth") + 1),
        )
        .explode("nth")
    )
    partners = (
        last_views.join(viewed.select("user", "nth", "ts", "item"), on=["user", "nth"])
        .filter(pl.col("bought") - pl.col("ts") <= tables.number("within_ms"))
        .select(pl.col("bought").alias("ts"), pl.col("item").alias("other"))
    )
    return running_lists(partners, item, tables.number("top"), tables.number("hour_ms"))
