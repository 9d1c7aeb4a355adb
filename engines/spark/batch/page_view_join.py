"""Joins page views in batch: every view with the updates, broadcast in buckets by page."""

from functools import reduce

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.spark.batch import windows
from streamlab.engines.spark.batch.counting import span, union
from streamlab.engines.spark.batch.markers import Markers, collect
from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Columns
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW

FIELDS = ("ts", "kind", "page", "user", "meta", "src")


def run(session: SparkSession, plan: Layout) -> Columns:
    """Return views with their metadata and updates with the metadata that they replace, unordered."""
    updates = collect(session, plan, "meta")
    count = len(updates)
    answer: Columns = {
        "ts": updates.ts,
        "kind": np.full(count, UPDATE, np.int8),
        "page": updates.key,
        "user": np.full(count, NO_USER, np.int32),
        "meta": _replaced(updates),
        "src": updates.src,
    }
    parts: list[DataFrame] = []
    for members in plan.tie_classes():
        begin, end = span(plan, members)
        _, after = windows.between(updates, members[0], begin, end, updates.value)
        buckets = windows.build(session, plan, after, begin)
        joined = buckets.join(union(session, plan, members, "user"), "left")
        parts.append(
            joined.selectExpr(
                "ts",
                f"{VIEW}Y as kind",
                "key as page",
                "user",
                "cast(coalesce(carried, 0) as int) as meta",
                "src",
            )
        )
    if not parts:
        return answer
    views = reduce(DataFrame.unionAll, parts).toArrow()
    return {name: np.concatenate([answer[name], views[name].to_numpy()]) for name in FIELDS}


def _replaced(updates: Markers) -> npt.NDArray[np.int64]:
    order = np.argsort(updates.key, kind="stable")
    key, value = updates.key[order], updates.value[order]
    old = np.zeros(len(key), dtype=np.int64)
    old[1:] = np.where(key[1:] == key[:-1], value[:-1], 0)
    result = np.empty_like(old)
    result[order] = old
    return result
