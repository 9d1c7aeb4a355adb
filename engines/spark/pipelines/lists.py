"""The lists of what was counted most often: by hour, or of everything so far at every hour's end.

A pipeline counts one pair after the other. Here a pair's counts are numbers of rows, and a list is
made of what could be in it, for all hours at once.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)
from pyspark.sql.window import Window

from streamlab.engines.spark.pipelines.relation import IN_ORDER

ORDER = ("since", "rank")
"""Of lists: by hour, then by place in the list."""


def since(hour_ms: int) -> str:
    """Return the SQL of the beginning of an hour, of times before 1970 as well."""
    return f"ts - pmod(ts, {hour_ms}L) as since"


def of_each_hour(pairs: DataFrame, top: int, more_than: int) -> DataFrame:
    """Return the lists of counts that start over with every hour.

    Args:
        pairs: `ts`, `since`, `item_1`, `item_2`.
        top: length of a list.
        more_than: counts up to this are not listed.
    """
    counted = pairs.groupBy("since", "item_1", "item_2").agg(
        F.count("ts").alias("count"), F.min("ts").alias("began")
    )
    best = Window.partitionBy("since").orderBy(F.desc("count"), "item_1", "item_2")
    listed = counted.where(F.col("count") > more_than).withColumn("rank", F.row_number().over(best))
    return _closed(listed.where(F.col("rank") <= top), _hours(counted, "began"))


def so_far(pairs: DataFrame, item: int, top: int) -> DataFrame:
    """Return, of every hour with pairs but the last, the list of all counts until its end.

    An item that has been counted n times is listed at most until `top` items have been counted n +
    1 times: so few rows of (item, hour) are made, instead of one for every item and hour.

    Args:
        pairs: `item`, `since`, and what orders them: `ts`, `src`, `row` and `nth`.
        item: the first item of all pairs.
        top: length of a list.
    """
    counted = pairs.selectExpr(
        "ts", "src", "row", "nth", "item", "since",
        f"row_number() over (partition by item {IN_ORDER}, nth) as count",
    )  # fmt: skip
    hours = _hours(counted, "ts").withColumn("hour", F.row_number().over(Window.orderBy("since")))
    at = F.broadcast(hours.select("since", "hour"))
    # The last count of an item in an hour holds until the item's next hour.
    counts = counted.groupBy("item", "since").agg(F.max("count").alias("count"))
    levels = counts.join(at, "since").selectExpr(
        "item", "count", "hour", "lead(hour) over (partition by item order by hour) as next"
    )
    reached = counted.selectExpr(
        "count - 1 as count",
        "since",
        f"row_number() over (partition by count {IN_ORDER}, nth) as n",
    )
    full = reached.where(f"n = {top}").join(at, "since").selectExpr("count", "hour as full")
    # Both missing: until the last hour, which is not listed.
    until = "coalesce(least(next, full), last)"
    last = F.broadcast(hours.agg(F.max("hour").alias("last")))
    lasting = (
        levels.join(F.broadcast(full), "count", "left")
        .crossJoin(last)
        .where(f"hour < {until}")
        .selectExpr("item", "count", f"explode(sequence(hour, {until} - 1)) as hour")
    )
    best = Window.partitionBy("hour").orderBy(F.desc("count"), "item")
    listed = lasting.withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= top)
    named = listed.join(at, "hour").selectExpr(
        "since", "rank", f"{item} as item_1", "item as item_2", "count"
    )
    return _closed(named, hours)


def _hours(pairs: DataFrame, time: str) -> DataFrame:
    """Return (since, ts) of hours with pairs: `ts` is that of the first pair of a later hour."""
    began = pairs.groupBy("since").agg(F.min(time).alias("began"))
    return began.select("since", F.lead("began").over(Window.orderBy("since")).alias("ts"))


def _closed(listed: DataFrame, hours: DataFrame) -> DataFrame:
    """Return lists with the times at which they are forwarded; that of the last hour has none."""
    ended = hours.where("ts is not null").select("since", "ts")
    return listed.join(F.broadcast(ended), "since")
