"""Defines queries 1 and 15 of TPCx-BB: pairs of items on tickets, and trends of daily sales."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.pipelines import lists, steps, totals
from streamlab.engines.spark.pipelines.relation import (
    AS_PLACE,
    IN_ORDER,
    PLACE,
    Relation,
    id_filter,
)
from streamlab.engines.spark.pipelines.stateful import by_key, in_one_group
from streamlab.workloads.inputs.retail.days import day_number
from streamlab.workloads.inputs.retail.schema import DAY_MS
from streamlab.workloads.model import Params


def _lines(sales: DataFrame, params: Params) -> DataFrame:
    """Return the sales of the selected stores and categories, with the slot of their ticket."""
    selected = " and ".join(
        (id_filter(params, "stores", "store"), id_filter(params, "categories", "category"))
    )
    slot = f"pmod(ticket, {params['open_tickets']}L) as slot"
    return sales.where(selected).selectExpr("ts", "src", "row", "ticket", "item", slot)


def _dated(sales: DataFrame, params: Params) -> DataFrame:
    """Return the sales of the selected stores from the first day on, with their day, at most `days`."""
    begin = day_number(str(params["first_day"])) * DAY_MS
    selected = sales.where(f"ts >= {begin}L and {id_filter(params, 'stores', 'store')}")
    day = f"least((ts - {begin}L) div {DAY_MS}L, {params['days']}L) as day"
    return selected.selectExpr(*PLACE, "category", day, "net_paid")


def _sold_together(sales: DataFrame, params: Params) -> DataFrame:
    by_slot = f"partition by slot {IN_ORDER}"
    others = f"case when lag(ticket) over ({by_slot}) = ticket then 0 else 1 end as begins"
    opened = _lines(sales, params).selectExpr("*", others)
    tickets = opened.selectExpr("*", f"sum(begins) over ({by_slot}) as number")
    first = tickets.groupBy("slot", "number", "item").agg(F.min(F.expr(AS_PLACE)).alias("place"))
    # The items of a ticket before a line; empty at its first line.
    turns = "partition by slot, number order by place"
    before = "rows between unbounded preceding and 1 preceding"
    counted = first.selectExpr(
        "place.ts as ts",
        "item",
        f"row_number() over ({turns}) as nth",
        f"collect_list(item) over ({turns} {before}) as had",
    )
    pairs = counted.where(f"nth <= {params['most_items']}").selectExpr(
        "ts", "item", "explode(had) as other", lists.hour_start(int(params["hour_ms"]))
    )
    ordered = pairs.selectExpr(
        "ts", "since", "least(item, other) as item_1", "greatest(item, other) as item_2"
    )
    return lists.hourly_lists(ordered, int(params["top"]), int(params["more_than"]))


def _sold_together_stream(sales: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.sold_together(int(params["most_items"]), int(params["hour_ms"]))
    pairs = by_key(_lines(sales, params), "slot", groups, step)
    return in_one_group(
        pairs, totals.lists(int(params["top"]), int(params["more_than"]), restart=True)
    )


def _declining(sales: DataFrame, params: Params) -> DataFrame:
    days = (
        _dated(sales, params)
        .groupBy("category", "day")
        .agg(F.min(F.expr(AS_PLACE)).alias("began"), F.sum("net_paid").alias("paid"))
    )
    by_category = "over (partition by category order by day)"
    sums = days.selectExpr(
        "category",
        "day",
        f"lead(began) {by_category} as end",
        f"count(day) {by_category} as n",
        f"sum(day) {by_category} as x",
        f"sum(paid) {by_category} as y",
        f"sum(day * paid) {by_category} as xy",
        f"sum(day * day) {by_category} as xx",
    )
    trends = sums.where("end is not null").selectExpr(
        "end.*",
        "category",
        "day",
        "n as points",
        "n * xy - x * y as rise",
        "n * xx - x * x as run",
    )
    return trends.where(f"day < {params['days']} and points > 1 and rise <= 0")


def _declining_stream(sales: DataFrame, params: Params, groups: int) -> DataFrame:
    return by_key(_dated(sales, params), "category", groups, steps.declining(int(params["days"])))


RELATIONS: Mapping[str, Relation] = {
    "items_sold_together": Relation(
        fields=("ticket", "item", "category", "store"),
        batch=_sold_together,
        streaming=_sold_together_stream,
        order=lists.ORDER,
    ),
    "declining_categories": Relation(
        fields=("category", "store", "net_paid"),
        batch=_declining,
        streaming=_declining_stream,
        order=PLACE,
    ),
}
