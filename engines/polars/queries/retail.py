"""Computes the retail queries: sessions of users, pairs of items on tickets, trends of daily sales, and top lists."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.retail.parameters import day_number
from streamlab.workloads.inputs.retail.schema import DAY_MS, DYNAMIC, ORDER


def hours_of(pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Return (hour, ts) of each hour with pairs; `ts` is the time of the first pair of the next such hour.

    The last hour is omitted.
    """
    first_times = pairs.group_by("hour").agg(pl.col("ts").min()).sort("hour")
    return first_times.select("hour", pl.col("ts").shift(-1)).drop_nulls("ts")


def top_lists(counts: pl.LazyFrame, top: int, hour_ms: int) -> pl.LazyFrame:
    """Return the top lists of all hours, by hour, then rank.

    `counts` has `hour`, `ts` (the list's time), `item_1`, `item_2` and `count`.
    """
    rank = pl.int_range(1, pl.len() + 1).over("hour").alias("rank")
    return (
        counts.sort("hour", "count", "item_1", "item_2", descending=[False, True, False, False])
        .with_columns(rank)
        .filter(pl.col("rank") <= top)
        .select(
            "ts",
            (pl.col("hour") * hour_ms).alias("since"),
            "rank",
            "item_1",
            "item_2",
            "count",
        )
    )


def running_lists(partners: pl.LazyFrame, item: int, top: int, hour_ms: int) -> pl.LazyFrame:
    """Return the top lists of all pairs so far, at the end of every hour.

    `partners` has `ts` and `other`, an item that occurred with `item`, the first item of all pairs.
    """
    pairs = partners.with_columns((pl.col("ts") // hour_ms).alias("hour"))
    new_counts = pairs.group_by("hour", "other").agg(pl.len().cast(pl.Int64).alias("new"))
    # Every hour has a list of all items so far, including items without events in that hour.
    all_items = hours_of(pairs).join(new_counts.select("other").unique(), how="cross")
    counts = (
        all_items.join(new_counts, on=["hour", "other"], how="left")
        .sort("other", "hour")
        .with_columns(pl.col("new").fill_null(0).cum_sum().over("other").alias("count"))
        .filter(pl.col("count") > 0)
        .select(
            "hour", "ts", pl.lit(item).alias("item_1"), pl.col("other").alias("item_2"), "count"
        )
    )
    return top_lists(counts, top, hour_ms)


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
    """Return (ts, since, rank, item_1, item_2, count): find sessions with the item, and count their other items."""
    item = tables.number("item")
    clicks = tables.events(0, "user", "item").filter(pl.col("user") != 0)
    viewed = (
        _closed_sessions(clicks, tables.number("gap_ms"))
        .unique(["session", "item"], keep="first", maintain_order=True)
        .filter(pl.int_range(pl.len()).over("session") < tables.number("most_items"))
    )
    sessions_with_item = viewed.filter(pl.col("item") == item).select("session")
    partners = (
        viewed.filter(pl.col("item") != item)
        .join(sessions_with_item, on="session", how="semi")
        .select(pl.col("end").alias("ts"), pl.col("item").alias("other"))
    )
    return running_lists(partners, item, tables.number("top"), tables.number("hour_ms"))


def last_views_before_purchase(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    Numbers views by user. An as-of join finds the number of the latest view before a purchase, and thus the numbers of
    the last few views.
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
    """Return the clicks of ended sessions, by session.

    A session ends with the user's next click that comes more than the gap after the one before. A user's last session
    does not end. Adds `row`, `session`, and the time and row (`end`, `end_row`) of the click that ends the session.
    `clicks` must be in total order.
    """
    user, ts = pl.col("user"), pl.col("ts")
    begins = user.ne_missing(user.shift()) | (ts - ts.shift() > gap_ms)
    numbered_clicks = (
        clicks.with_row_index("row")
        .sort("user", maintain_order=True)
        .with_columns(begins.cum_sum().alias("session"))
    )
    sessions = numbered_clicks.group_by("session", maintain_order=True).agg(
        pl.col("user", "ts", "row").first()
    )
    ends = sessions.select(
        "session",
        ts.shift(-1).alias("end"),
        pl.col("row").shift(-1).alias("end_row"),
        (user == user.shift(-1)).alias("again"),
    ).filter("again")
    return numbered_clicks.join(ends.drop("again"), on="session", maintain_order="left")


def items_sold_together(tables: Tables) -> pl.LazyFrame:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    A ticket's place is its number modulo `open_tickets`, and a ticket ends when another one takes its place. Tickets
    are therefore runs of equal numbers among the lines of a place.
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
    first_day, days = day_number(str(tables.params["first_day"])), tables.number("days")
    day = pl.col("ts") // DAY_MS - first_day
    by_day = (
        tables.events(0, "category", "store", "net_paid")
        .with_row_index("row")
        .filter(tables.among("stores", "store") & (day >= 0))
        .group_by("category", day.clip(upper_bound=days).alias("day"))
        .agg(pl.col("row", "ts").first(), pl.col("net_paid").sum().alias("paid"))
        .sort("category", "day")
    )
    x, y = pl.col("day"), pl.col("paid")

    def sum_so_far(value: pl.Expr) -> pl.Expr:
        return value.cum_sum().over("category")

    n = pl.int_range(1, pl.len() + 1).over("category")
    # A day ends with the category's first sale of a later day; the last day has no end.
    ended_days = by_day.select(
        "category",
        "day",
        pl.col("row", "ts").shift(-1).over("category"),
        n.alias("points"),
        (n * sum_so_far(x * y) - sum_so_far(x) * sum_so_far(y)).alias("rise"),
        (n * sum_so_far(x * x) - sum_so_far(x) * sum_so_far(x)).alias("run"),
    ).drop_nulls("row")
    return (
        ended_days.filter((pl.col("points") > 1) & (pl.col("rise") <= 0))
        .sort("row")
        .select("ts", "category", "day", "points", "rise", "run")
    )
