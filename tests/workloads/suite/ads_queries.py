"""Queries on ads with small parameters, and what a loop over the events answers."""

from collections.abc import Callable

from streamlab.workloads.model import Input
from tests.workloads.suite import ads_naive as naive

FORMS = ("typed", "handcrafted")
AD_TABLE_PARAMETERS = {"ads": 5, "campaigns": 2}
USER_TABLE_PARAMETERS = {"users": 5, "locations": 2}
WINDOW = {"markers_ms": 2, "window_ms": 6}
K_MEANS = {"markers_ms": 1, "period_ms": 2, "clusters": 2, "iterations": 3}
Loop = Callable[[Input], list[tuple[int, ...]]]
SMALL: dict[str, tuple[dict[str, object], Loop]] = {
    "ad_enrichment": (AD_TABLE_PARAMETERS, lambda data: naive.enrichment(data, 5, 2)),
    "user_activity": ({"markers_ms": 2}, lambda data: naive.activity(data, 2)),
    "location_history": (
        {**USER_TABLE_PARAMETERS, "markers_ms": 2},
        lambda data: naive.history(data, 2, 5, 2),
    ),
    "campaign_views": (
        {**AD_TABLE_PARAMETERS, **WINDOW},
        lambda data: naive.views(data, 2, 6, 2, 5, 2),
    ),
    "campaign_views_tumbling": (
        {**AD_TABLE_PARAMETERS, **WINDOW},
        lambda data: naive.views(data, 2, 6, 6, 5, 2),
    ),
    "user_clusters": (
        {**USER_TABLE_PARAMETERS, **K_MEANS},
        lambda data: naive.clusters(data, 2, 5, 2, 2, 3),
    ),
}
"""Query parameters by which a few events have answers, and what these are."""
