"""Sums bulk events in the windows between markers."""

from functools import reduce

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.batch import windows
from streamlab.engines.spark.batch.markers import Markers, read
from streamlab.engines.spark.layout import Layout


def span(plan: Layout, members: tuple[int, ...]) -> tuple[int, int]:
    """Return the first and last event time of some streams."""
    filled = [plan.streams[src] for src in members if plan.streams[src].rows]
    if not filled:
        return 0, 0
    return min(s.ts_min for s in filled), max(s.ts_max for s in filled)


def union(session: SparkSession, plan: Layout, members: tuple[int, ...], *fields: str) -> DataFrame:
    """Return the union of streams as `ts`, `key`, fields and `src`, the stream's index."""
    frames = [
        read(session, plan, src, *fields).withColumn("src", F.lit(src).cast("short"))
        for src in members
    ]
    return reduce(DataFrame.unionAll, frames)


def sums(
    session: SparkSession, plan: Layout, markers: Markers, field: str | None
) -> npt.NDArray[np.int64]:
    """Return for each marker the sum of a field since the previous marker; the number of events if `field` is None.

    Raises:
        CrowdedError: markers are so dense in time that the bucket join would be quadratic.
    """
    total = np.zeros(len(markers), dtype=np.int64)
    parts: list[DataFrame] = []
    for members in plan.tie_classes():
        begin, end = span(plan, members)
        before, _ = windows.between(markers, members[0], begin, end, markers.value)
        buckets = windows.build(session, plan, before, begin)
        bulk = union(session, plan, members, *([field] if field else []))
        amount = F.sum(field) if field else F.count(F.lit(1))
        parts.append(buckets.join(bulk).groupBy("window").agg(amount.alias("amount")))
    if parts and len(markers):
        table = reduce(DataFrame.unionAll, parts).toArrow()
        np.add.at(total, table["window"].to_numpy(), table["amount"].to_numpy())
    return total
