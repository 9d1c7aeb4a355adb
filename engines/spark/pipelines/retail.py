"""Defines queries 1, 2, 3, 4 and 15 of TPCx-BB: items on tickets, sessions, views, and daily sales."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.pipelines import lists, steps
from streamlab.engines.spark.pipelines.relation import (
    AS_PLACE,
    IN_ORDER,
    PLACE,
    Relation,
    by_key,
    id_filter,
    in_one_group,
)
from streamlab.workloads.inputs.retail.parameters import day_number
from streamlab.workloads.inputs.retail.schema import DAY_MS, DYNAMIC, ORDER
from streamlab.workloads.model import Params

_UNSOLD = "user != 0 and sale = 0"
_BY_USER = f"partition by user {IN_ORDER}"


def in_sessions(clicks: DataFrame, gap_ms: int) -> DataFrame:
    """Return clicks with the number of their user's session, from 1, and their `place`."""
    idle = clicks.selectExpr("*", AS_PLACE, f"ts - lag(ts) over ({_BY_USER}) as idle")
    begins = f"case when idle is null or idle > {gap_ms} then 1 else 0 end"
    return idle.selectExpr("*", f"sum({begins}) over ({_BY_USER}) as session")


def closed_sessions(sessions: DataFrame) -> DataFrame:
    """Return the ended sessions, each with the place of the click that begins the user's next session."""
    end = "lead(began) over (partition by user order by session) as end"
    return sessions.selectExpr("*", end).where("end is not null")


def _viewed_together(clicks: DataFrame, params: Params) -> DataFrame:
    session_clicks = in_sessions(clicks.where("user != 0"), int(params["gap_ms"]))
    in_turn = F.sort_array(F.collect_list(F.struct("place", "item")))
    sessions = session_clicks.groupBy("user", "session").agg(
        F.min("place").alias("began"), in_turn.alias("viewed")
    )
    # `array_distinct` keeps the items' order.
    items = f"slice(array_distinct(viewed.item), 1, {params['most_items']}) as items"
    ended_sessions = closed_sessions(sessions).selectExpr("end", items)
    with_item = ended_sessions.where(f"array_contains(items, {params['item']})")
    pairs = with_item.selectExpr("end.*", "posexplode(items) as (nth, item)")
    other_items = pairs.where(f"item != {params['item']}")
    hours = other_items.selectExpr("*", lists.hour_start(int(params["hour_ms"])))
    return lists.running_lists(hours, int(params["item"]), int(params["top"]))


def _viewed_together_stream(clicks: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.viewed_together(
        int(params["item"]), int(params["gap_ms"]), int(params["most_items"])
    )
    return _lists_so_far(by_key(clicks.where("user != 0"), "user", groups, step), params)


def _lists_so_far(pairs: DataFrame, params: Params) -> DataFrame:
    in_hours = pairs.selectExpr(
        *PLACE, lists.hour_start(int(params["hour_ms"])), f"{params['item']} as item_1",
        "item as item_2", "1L as count",
    )  # fmt: skip
    return in_one_group(in_hours, steps.lists(int(params["top"]), 0, restart=False))


def _select_relevant(clicks: DataFrame, params: Params) -> DataFrame:
    bought = f"sale != 0 and item = {params['item']}"
    viewed = f"sale = 0 and {id_filter(params, 'categories', 'category')}"
    return clicks.where(f"user != 0 and (({bought}) or ({viewed}))")


def _last_views(clicks: DataFrame, params: Params) -> DataFrame:
    views = int(params["views"])
    count = f"count_if(sale = 0) over ({_BY_USER}) as seen"
    counted = _select_relevant(clicks, params).selectExpr("*", count)
    # The frame ranges over the number of views so far, because a frame of rows would also count purchases.
    frame = f"order by seen range between {views - 1} preceding and current row"
    view = "case when sale = 0 then struct(ts as time, item) end"
    recent = counted.selectExpr(
        *PLACE, "sale", f"collect_list({view}) over (partition by user {frame}) as recent"
    )
    recent_views = f"filter(recent, view -> ts - view.time <= {params['within_ms']}L)"
    pairs = recent.where("sale != 0").selectExpr(
        *PLACE,
        lists.hour_start(int(params["hour_ms"])),
        f"posexplode({recent_views}) as (nth, view)",
    )
    viewed = pairs.selectExpr(*PLACE, "since", "nth", "view.item as item")
    return lists.running_lists(viewed, int(params["item"]), int(params["top"]))


def _last_views_stream(clicks: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.last_views(int(params["views"]), int(params["within_ms"]))
    return _lists_so_far(by_key(_select_relevant(clicks, params), "user", groups, step), params)


def _abandoned_carts(clicks: DataFrame, params: Params) -> DataFrame:
    unsold = in_sessions(clicks.where(_UNSOLD), int(params["gap_ms"]))
    sessions = unsold.groupBy("user", "session").agg(
        F.min("place").alias("began"),
        F.count("place").alias("visited"),
        F.expr(f"max(case when page = {ORDER} then place end)").alias("ordered"),
        F.expr(f"max(case when page = {DYNAMIC} then place end)").alias("dynamic"),
    )
    abandoned_sessions = closed_sessions(sessions).where(
        "dynamic > ordered or dynamic is not null and ordered is null"
    )
    sums = abandoned_sessions.selectExpr(
        "end.*",
        "row_number() over (order by end) as sessions",
        "sum(visited) over (order by end rows unbounded preceding) as pages",
    )
    return sums.selectExpr("*", "pages / sessions as average")


def _abandoned_carts_stream(clicks: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.abandoned_carts(int(params["gap_ms"]))
    return in_one_group(by_key(clicks.where(_UNSOLD), "user", groups, step), steps.means())


def _lines(sales: DataFrame, params: Params) -> DataFrame:
    """Return the sales of the selected stores and categories, with the slot of their ticket."""
    condition = " and ".join(
        (id_filter(params, "stores", "store"), id_filter(params, "categories", "category"))
    )
    slot = f"pmod(ticket, {params['open_tickets']}L) as slot"
    return sales.where(condition).selectExpr("ts", "src", "row", "ticket", "item", slot)


def _sales_by_day(sales: DataFrame, params: Params) -> DataFrame:
    """Return the sales of the selected stores from the first day on, with the number of their day, at most `days`."""
    begin = day_number(str(params["first_day"])) * DAY_MS
    selected = sales.where(f"ts >= {begin}L and {id_filter(params, 'stores', 'store')}")
    day = f"least((ts - {begin}L) div {DAY_MS}L, {params['days']}L) as day"
    return selected.selectExpr(*PLACE, "category", day, "net_paid")


def _sold_together(sales: DataFrame, params: Params) -> DataFrame:
    by_slot = f"partition by slot {IN_ORDER}"
    begins = f"case when lag(ticket) over ({by_slot}) = ticket then 0 else 1 end as begins"
    lines = _lines(sales, params).selectExpr("*", begins)
    tickets = lines.selectExpr("*", f"sum(begins) over ({by_slot}) as number")
    items = tickets.groupBy("slot", "number", "item").agg(F.min(F.expr(AS_PLACE)).alias("place"))
    # `earlier` has the items of a ticket before a line; it is empty at the ticket's first line.
    turns = "partition by slot, number order by place"
    before = "rows between unbounded preceding and 1 preceding"
    numbered_items = items.selectExpr(
        "place.ts as ts",
        "item",
        f"row_number() over ({turns}) as nth",
        f"collect_list(item) over ({turns} {before}) as earlier",
    )
    pairs = numbered_items.where(f"nth <= {params['most_items']}").selectExpr(
        "ts", "item", "explode(earlier) as other", lists.hour_start(int(params["hour_ms"]))
    )
    ordered_pairs = pairs.selectExpr(
        "ts", "since", "least(item, other) as item_1", "greatest(item, other) as item_2"
    )
    return lists.hourly_lists(ordered_pairs, int(params["top"]), int(params["more_than"]))


def _sold_together_stream(sales: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.sold_together(int(params["most_items"]), int(params["hour_ms"]))
    pairs = by_key(_lines(sales, params), "slot", groups, step)
    return in_one_group(
        pairs, steps.lists(int(params["top"]), int(params["more_than"]), restart=True)
    )


def _declining(sales: DataFrame, params: Params) -> DataFrame:
    days = (
        _sales_by_day(sales, params)
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
    return by_key(
        _sales_by_day(sales, params), "category", groups, steps.declining(int(params["days"]))
    )


RELATIONS: Mapping[str, Relation] = {
    "items_viewed_together": Relation(
        fields=("user", "item"),
        batch=_viewed_together,
        streaming=_viewed_together_stream,
        order=lists.ORDER,
    ),
    "last_views_before_purchase": Relation(
        fields=("user", "item", "sale", "category"),
        batch=_last_views,
        streaming=_last_views_stream,
        order=lists.ORDER,
    ),
    "cart_abandonment": Relation(
        fields=("user", "sale", "page"),
        batch=_abandoned_carts,
        streaming=_abandoned_carts_stream,
        order=PLACE,
    ),
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
