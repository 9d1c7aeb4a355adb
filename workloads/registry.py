"""Finds workloads by name: packages below `workloads.suite` that export a `Workload`."""

from importlib import import_module

from workloads.model import ModelError, Workload

NAMES = (
    "cart_abandonment",
    "declining_categories",
    "event_window",
    "forward",
    "fraud_detection",
    "items_sold_together",
    "items_viewed_together",
    "keyed_counter",
    "last_views_before_purchase",
    "linear_road_new_seg",
    "linear_road_pos_rep",
    "longest_tweet_per_hashtag",
    "nyse_hedge",
    "page_view_join",
    "paircount",
    "parametric",
    "scale_join",
    "wordcount",
)


def module_of(name: str) -> str:
    """Return the name of the package in which a workload is."""
    return f"workloads.suite.{name}"


def workload(name: str) -> Workload:
    """Return the workload of that name, bound to the defaults of its query parameters.

    Raises:
        ModelError: there is none; the message lists those that exist.
    """
    if name not in NAMES:
        raise ModelError(f"no workload {name!r}; there are {', '.join(NAMES)}")
    found = import_module(module_of(name)).WORKLOAD
    assert isinstance(found, Workload)
    return found.bound({})
