"""Lists the ordered pipelines that Spark runs, and why others are missing; imports Spark on use."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlab.engines.spark.pipelines.relation import Relation

FORMS = {
    "cart_abandonment": ("sql",),
    "declining_categories": ("sql",),
    "items_sold_together": ("sql",),
    "items_viewed_together": ("sql",),
    "last_views_before_purchase": ("sql",),
    "linear_road_new_seg": ("sql",),
    "linear_road_pos_rep": ("sql",),
}
"""Forms by workload; each has one."""

LACKING: Mapping[str, str] = {
    "linear_road_toll": (
        "it measures the cost of determinism in a graph of two keyed operators; its count of "
        "vehicles has no Spark SQL query"
    ),
    "parametric": (
        "its operators cost a set number of steps of compiled code, which Spark SQL would "
        "either interpret or, with the oracle's closed form, skip"
    ),
}
"""Pipelines without a Spark query, with the reason."""


def relation(workload: str) -> "Relation":
    """Return the relation of a workload."""
    from streamlab.engines.spark.pipelines import clicks, linear_road, sales

    return {
        "cart_abandonment": clicks.CART_ABANDONMENT,
        "declining_categories": sales.DECLINING_CATEGORIES,
        "items_sold_together": sales.ITEMS_SOLD_TOGETHER,
        "items_viewed_together": clicks.ITEMS_VIEWED_TOGETHER,
        "last_views_before_purchase": clicks.LAST_VIEWS_BEFORE_PURCHASE,
        "linear_road_new_seg": linear_road.NEW_SEG,
        "linear_road_pos_rep": linear_road.POS_REP,
    }[workload]
