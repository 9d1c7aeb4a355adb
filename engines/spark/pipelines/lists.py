"""Computes top lists in SQL: the most frequent pairs of each hour, or of all hours so far.

A pipeline counts one pair after the other. In SQL, counts are row numbers, and the lists of all hours are computed
together from their candidates.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)
from pyspark.sql.window import Window

from streamlab.engines.spark.pipelines.relation import IN_ORDER

ORDER = ("since", "rank")
"""Order of lists: by hour, then by rank."""


def hour_start(hour_ms: int) -> str:
    """Return the SQL of the beginning of an hour, also for times before 1970."""
    return f"ts - pmod(ts, {hour_ms}L) as since"


def hourly_lists(pairs: DataFrame, top: int, more_than: int) -> DataFrame:
    """Return the top list of each hour, from counts above `more_than`; counts restart every hour.

    `pairs` has `ts`, `since`, `item_1` and `item_2`.
    """
    pair_counts = pairs.groupBy("since", "item_1", "item_2").agg(
        F.count("ts").alias("count"), F.min("ts").alias("began")
    )
    best = Window.partitionBy("since").orderBy(F.desc("count"), "item_1", "item_2")
    ranked = pair_counts.where(F.col("count") > more_than).withColumn(
        "rank", F.row_number().over(best)
    )
    return _forward_times(ranked.where(F.col("rank") <= top), _hours(pair_counts, "began"))


def running_lists(pairs: DataFrame, item: int, top: int) -> DataFrame:
    """Return, for every hour with pairs except the last, the top list of all counts up to the hour's end.

    An item with count n leaves the list at the latest when `top` items have count n + 1. An item therefore needs rows
    only for some hours, not for every hour.
    `pairs` has `item`, `since` and the order: `ts`, `src`, `row` and `nth`. The argument `item` is the first item of
    all pairs.
    """
    counted = pairs.selectExpr(
        "ts", "src", "row", "nth", "item", "since",
        f"row_number() over (partition by item {IN_ORDER}, nth) as count",
    )  # fmt: skip
    hours = _hours(counted, "ts").withColumn("hour", F.row_number().over(Window.orderBy("since")))
    hour_numbers = F.broadcast(hours.select("since", "hour"))
    # An item's last count in an hour is valid until the item's next hour.
    counts = counted.groupBy("item", "since").agg(F.max("count").alias("count"))
    levels = counts.join(hour_numbers, "since").selectExpr(
        "item", "count", "hour", "lead(hour) over (partition by item order by hour) as next"
    )
    count_places = counted.selectExpr(
        "count - 1 as count",
        "since",
        f"row_number() over (partition by count {IN_ORDER}, nth) as n",
    )
    full = (
        count_places.where(f"n = {top}")
        .join(hour_numbers, "since")
        .selectExpr("count", "hour as full")
    )
    # If both are null, the count is valid until the last hour, which has no list.
    end_hour = "coalesce(least(next, full), last)"
    last = F.broadcast(hours.agg(F.max("hour").alias("last")))
    count_spans = (
        levels.join(F.broadcast(full), "count", "left")
        .crossJoin(last)
        .where(f"hour < {end_hour}")
        .selectExpr("item", "count", f"explode(sequence(hour, {end_hour} - 1)) as hour")
    )
    best = Window.partitionBy("hour").orderBy(F.desc("count"), "item")
    ranked = count_spans.withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= top)
    rows = ranked.join(hour_numbers, "hour").selectExpr(
        "since", "rank", f"{item} as item_1", "item as item_2", "count"
    )
    return _forward_times(rows, hours)


def _hours(pairs: DataFrame, time: str) -> DataFrame:
    """Return (since, ts) of hours with pairs; `ts` is the time of the first pair of the next hour."""
    starts = pairs.groupBy("since").agg(F.min(time).alias("start"))
    return starts.select("since", F.lead("start").over(Window.orderBy("since")).alias("ts"))


def _forward_times(rows: DataFrame, hours: DataFrame) -> DataFrame:
    """Return lists with the times at which they are forwarded; the last hour's list is omitted."""
    ended_hours = hours.where("ts is not null").select("since", "ts")
    return rows.join(F.broadcast(ended_hours), "since")
