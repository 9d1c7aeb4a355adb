"""Chooses and runs the batch query of a workload."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from streamlab.engines.spark.batch import (
    event_window,
    fraud_detection,
    keyed_counter,
    page_view_join,
    total_order_windows,
)
from streamlab.engines.spark.batch.windows import CrowdedError
from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Columns

BUCKETS: dict[str, Callable[[SparkSession, Layout], Columns]] = {
    "event_window": event_window.run,
    "fraud_detection": fraud_detection.run,
    "keyed_counter": keyed_counter.run,
    "page_view_join": page_view_join.run,
}


def run(session: SparkSession, plan: Layout, workload: str, form: str) -> tuple[Columns, str]:
    """Return a workload's output, unordered, and the form that computed it.

    Form `buckets` falls back to `ordered` if a stream mixes bulk events with markers, or markers are too dense.
    """
    if form == "buckets" and not plan.mixed:
        try:
            return BUCKETS[workload](session, plan), "buckets"
        except CrowdedError:
            pass
    return total_order_windows.run(session, plan, workload), "ordered"
