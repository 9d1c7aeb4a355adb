"""Computes the retail queries on sales: pairs of items on tickets, and trends of daily sales."""

import polars as pl

from streamlab.engines.polars.ranking import hours_of, top_lists
from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.retail.days import day_number
from streamlab.workloads.inputs.retail.schema import DAY_MS


def items_sold_together(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    Counts items sold together: groups runs of lines into tickets and pairs the distinct items of each.

    A ticket ends when another ticket takes its place, which is the ticket's number modulo `open_tickets`. Tickets are
    therefore runs of equal numbers among the lines of a place.
    """
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


def declining_categories(tables: Tables) -> pl.LazyFrame:
    """Return (ts, category, day, points, rise, run), in order of the sales that end the days.

    Finds declining categories: payments per day, and a least-squares line over days by running sums.
    """
    first, days = day_number(str(tables.params["first_day"])), tables.number("days")
    day = pl.col("ts") // DAY_MS - first
    by_day = (
        tables.events(0, "category", "store", "net_paid")
        .with_row_index("row")
        .filter(tables.among("stores", "store") & (day >= 0))
        .group_by("category", day.clip(upper_bound=days).alias("day"))
        .agg(pl.col("row", "ts").first(), pl.col("net_paid").sum().alias("paid"))
        .sort("category", "day")
    )
    x, y = pl.col("day"), pl.col("paid")

    def upto(value: pl.Expr) -> pl.Expr:
        return value.cum_sum().over("category")

    n = pl.int_range(1, pl.len() + 1).over("category")
    # A day ends with the category's first sale of a later day; the last day has no end.
    ended = by_day.select(
        "category",
        "day",
        pl.col("row", "ts").shift(-1).over("category"),
        n.alias("points"),
        (n * upto(x * y) - upto(x) * upto(y)).alias("rise"),
        (n * upto(x * x) - upto(x) * upto(x)).alias("run"),
    ).drop_nulls("row")
    return (
        ended.filter((pl.col("points") > 1) & (pl.col("rise") <= 0))
        .sort("row")
        .select("ts", "category", "day", "points", "rise", "run")
    )
