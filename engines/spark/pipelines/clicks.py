"""Defines queries 2, 3 and 4 of TPCx-BB: sessions of users, and views before a purchase."""

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
from streamlab.workloads.inputs.retail.schema import DYNAMIC, ORDER
from streamlab.workloads.model import Params

_UNSOLD = "user != 0 and sale = 0"
_BY_USER = f"partition by user {IN_ORDER}"


def in_sessions(clicks: DataFrame, gap_ms: int) -> DataFrame:
    """Return clicks with the number of their user's session, from 1, and their `place`."""
    idle = clicks.selectExpr("*", AS_PLACE, f"ts - lag(ts) over ({_BY_USER}) as idle")
    begins = f"case when idle is null or idle > {gap_ms} then 1 else 0 end"
    return idle.selectExpr("*", f"sum({begins}) over ({_BY_USER}) as session")


def closed_sessions(sessions: DataFrame) -> DataFrame:
    """Return sessions (`user`, `session`, `began`, ...) with the place of the click that ends each.

    A session ends when the user's next session begins; the last session of each user is omitted.
    """
    end = "lead(began) over (partition by user order by session) as end"
    return sessions.selectExpr("*", end).where("end is not null")


def _viewed_together(clicks: DataFrame, params: Params) -> DataFrame:
    viewed = in_sessions(clicks.where("user != 0"), int(params["gap_ms"]))
    in_turn = F.sort_array(F.collect_list(F.struct("place", "item")))
    sessions = viewed.groupBy("user", "session").agg(
        F.min("place").alias("began"), in_turn.alias("viewed")
    )
    # `array_distinct` keeps the items' order.
    items = f"slice(array_distinct(viewed.item), 1, {params['most_items']}) as items"
    holding = closed_sessions(sessions).selectExpr("end", items)
    holding = holding.where(f"array_contains(items, {params['item']})")
    pairs = holding.selectExpr("end.*", "posexplode(items) as (nth, item)")
    others = pairs.where(f"item != {params['item']}")
    hours = others.selectExpr("*", lists.hour_start(int(params["hour_ms"])))
    return lists.running_lists(hours, int(params["item"]), int(params["top"]))


def _viewed_together_stream(clicks: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.viewed_together(
        int(params["item"]), int(params["gap_ms"]), int(params["most_items"])
    )
    return _lists_so_far(by_key(clicks.where("user != 0"), "user", groups, step), params)


def _lists_so_far(pairs: DataFrame, params: Params) -> DataFrame:
    named = pairs.selectExpr(
        *PLACE, lists.hour_start(int(params["hour_ms"])), f"{params['item']} as item_1",
        "item as item_2", "1L as count",
    )  # fmt: skip
    return in_one_group(named, totals.lists(int(params["top"]), 0, restart=False))


def _relevant(clicks: DataFrame, params: Params) -> DataFrame:
    bought = f"sale != 0 and item = {params['item']}"
    viewed = f"sale = 0 and {id_filter(params, 'categories', 'category')}"
    return clicks.where(f"user != 0 and (({bought}) or ({viewed}))")


def _last_views(clicks: DataFrame, params: Params) -> DataFrame:
    views = int(params["views"])
    count = f"count_if(sale = 0) over ({_BY_USER}) as seen"
    counted = _relevant(clicks, params).selectExpr("*", count)
    # The frame ranges over the number of views so far; a frame of rows would also count purchases.
    frame = f"order by seen range between {views - 1} preceding and current row"
    view = "case when sale = 0 then struct(ts as time, item) end"
    recent = counted.selectExpr(
        *PLACE, "sale", f"collect_list({view}) over (partition by user {frame}) as recent"
    )
    kept = f"filter(recent, view -> ts - view.time <= {params['within_ms']}L)"
    pairs = recent.where("sale != 0").selectExpr(
        *PLACE, lists.hour_start(int(params["hour_ms"])), f"posexplode({kept}) as (nth, view)"
    )
    named = pairs.selectExpr(*PLACE, "since", "nth", "view.item as item")
    return lists.running_lists(named, int(params["item"]), int(params["top"]))


def _last_views_stream(clicks: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.last_views(int(params["views"]), int(params["within_ms"]))
    return _lists_so_far(by_key(_relevant(clicks, params), "user", groups, step), params)


def _abandoned_carts(clicks: DataFrame, params: Params) -> DataFrame:
    unsold = in_sessions(clicks.where(_UNSOLD), int(params["gap_ms"]))
    sessions = unsold.groupBy("user", "session").agg(
        F.min("place").alias("began"),
        F.count("place").alias("visited"),
        F.expr(f"max(case when page = {ORDER} then place end)").alias("ordered"),
        F.expr(f"max(case when page = {DYNAMIC} then place end)").alias("dynamic"),
    )
    abandoned = closed_sessions(sessions).where(
        "dynamic > ordered or dynamic is not null and ordered is null"
    )
    sums = abandoned.selectExpr(
        "end.*",
        "row_number() over (order by end) as sessions",
        "sum(visited) over (order by end rows unbounded preceding) as pages",
    )
    return sums.selectExpr("*", "pages / sessions as average")


def _abandoned_carts_stream(clicks: DataFrame, params: Params, groups: int) -> DataFrame:
    step = steps.abandoned_carts(int(params["gap_ms"]))
    return in_one_group(by_key(clicks.where(_UNSOLD), "user", groups, step), totals.means())


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
}
