"""Computes the retail queries on clicks: sessions of users, and views before a purchase."""

import polars as pl

from streamlab.engines.polars.ranking import running_lists
from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.retail.schema import DYNAMIC, ORDER


def cart_abandonment(tables: Tables) -> pl.LazyFrame:
    """Return (ts, sessions, pages, average) after every abandoned session.

    Finds sessions with abandoned carts by their last pages of two types, then computes running sums.
    """
    clicks = tables.events(0, "user", "sale", "page")
    unsold = clicks.filter((pl.col("user") != 0) & (pl.col("sale") == 0)).drop("sale")

    def latest(page: int) -> pl.Expr:
        row = pl.col("row").cast(pl.Int64)
        return row.filter(pl.col("page") == page).max().fill_null(-1)

    sessions = (
        _closed_sessions(unsold, tables.number("gap_ms"))
        .group_by("session")
        .agg(
            pl.col("end", "end_row").first(),
            pl.len().cast(pl.Int64).alias("length"),
            latest(ORDER).alias("order"),
            latest(DYNAMIC).alias("dynamic"),
        )
    )
    count, pages = pl.int_range(1, pl.len() + 1), pl.col("length").cum_sum()
    return (
        sessions.filter(pl.col("dynamic") > pl.col("order"))
        .sort("end_row")
        .select(
            pl.col("end").alias("ts"),
            count.alias("sessions"),
            pages.alias("pages"),
            (pages / count).alias("average"),
        )
    )


def items_viewed_together(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    Counts items viewed together: finds the sessions that contain the item, and counts their other items.
    """
    item = tables.number("item")
    clicks = tables.events(0, "user", "item").filter(pl.col("user") != 0)
    viewed = (
        _closed_sessions(clicks, tables.number("gap_ms"))
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


def last_views_before_purchase(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    Finds the last views before each purchase: numbers views by user, and joins purchases by number.

    An as-of join finds the number of the latest view before a purchase; the last few views follow from it.
    """
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


def _closed_sessions(clicks: pl.LazyFrame, gap_ms: int) -> pl.LazyFrame:
    """Return the clicks of ended sessions, by session, each with `end` and `end_row`, time and row of the ending click.

    A session ends with the user's first click that comes more than the gap after the previous one. A user's last
    session does not end. `clicks` are in total order; `row` and `session` are added.
    """
    user, ts = pl.col("user"), pl.col("ts")
    begins = user.ne_missing(user.shift()) | (ts - ts.shift() > gap_ms)
    marked = (
        clicks.with_row_index("row")
        .sort("user", maintain_order=True)
        .with_columns(begins.cum_sum().alias("session"))
    )
    sessions = marked.group_by("session", maintain_order=True).agg(
        pl.col("user", "ts", "row").first()
    )
    ends = sessions.select(
        "session",
        ts.shift(-1).alias("end"),
        pl.col("row").shift(-1).alias("end_row"),
        (user == user.shift(-1)).alias("again"),
    ).filter("again")
    return marked.join(ends.drop("again"), on="session", maintain_order="left")
