"""Computes the four DGS workloads in batch: joins bulk events with the windows between separators (see windows.py)."""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.protocol import IntArray
from streamlab.engines.spark.batch import windows
from streamlab.engines.spark.batch.windows import Separators, collect, read
from streamlab.engines.spark.layout import tie_classes
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW


def event_window(session: SparkSession, dataset: Dataset) -> Columns:
    """Return one sum per barrier, in the order of barriers."""
    barriers = collect(session, dataset)
    sums = _totals(session, dataset, barriers, F.sum("value"), ["value"])
    return {"ts": barriers.ts, "sum": sums, "src": barriers.src.astype(np.int16)}


def keyed_counter(session: SparkSession, dataset: Dataset) -> Columns:
    """Return one count per read-reset, in the order of read-resets."""
    resets = collect(session, dataset)
    counts = _totals(session, dataset, resets, F.count(F.lit(1)), [])
    return {"ts": resets.ts, "key": resets.key, "count": counts, "src": resets.src.astype(np.int16)}


def fraud_detection(session: SparkSession, dataset: Dataset) -> Columns:
    """Return all aggregates and all fraudulent transactions, unordered.

    The aggregates do not depend on which transactions are fraudulent. Two joins therefore suffice: one for the
    aggregates, from which the driver computes the models, and one with the models. Two cheap scans are faster than
    storing the rows of the first join.
    """
    rules = collect(session, dataset, "value")
    sums = _totals(session, dataset, rules, F.sum("value"), ["value"])
    frauds = []
    for joined in _with_current(session, dataset, rules, (sums + rules.value) % MODULUS, "value"):
        # Before the first rule the model is 0. No window has these transactions, so the outer join returns null.
        fraud = joined.where(f"pmod(value, {MODULUS}) = coalesce(carried, 0)")
        frauds.append(fraud.selectExpr("ts", f"{FRAUD}Y as kind", "value", "src"))
    aggregates: Columns = {
        "ts": rules.ts,
        "kind": np.full(len(rules), AGGREGATE, np.int8),
        "value": sums,
        "src": rules.src,
    }
    return _append(aggregates, frauds)


def page_view_join(session: SparkSession, dataset: Dataset) -> Columns:
    """Return views with their metadata and updates with the metadata that they replace, unordered."""
    updates = collect(session, dataset, "meta")
    views = [
        joined.selectExpr(
            "ts",
            f"{VIEW}Y as kind",
            "key as page",
            "user",
            "cast(coalesce(carried, 0) as int) as meta",
            "src",
        )
        for joined in _with_current(session, dataset, updates, updates.value, "user")
    ]
    replaced: Columns = {
        "ts": updates.ts,
        "kind": np.full(len(updates), UPDATE, np.int8),
        "page": updates.key,
        "user": np.full(len(updates), NO_USER, np.int32),
        "meta": _replaced_values(updates),
        "src": updates.src,
    }
    return _append(replaced, views)


QUERIES: dict[str, Callable[[SparkSession, Dataset], Columns]] = {
    "event_window": event_window,
    "fraud_detection": fraud_detection,
    "keyed_counter": keyed_counter,
    "page_view_join": page_view_join,
}
"""The query of each workload."""


def _totals(
    session: SparkSession,
    dataset: Dataset,
    separators: Separators,
    amount: Column,
    fields: list[str],
) -> IntArray:
    """Return, for each separator, `amount` aggregated over the bulk events since the key's previous separator."""
    total = np.zeros(len(separators), dtype=np.int64)
    parts: list[DataFrame] = []
    for members in tie_classes(dataset):
        begin, end = _span(dataset, members)
        before, _ = windows.between(separators, members[0], begin, end, separators.value)
        joined = windows.build(session, dataset, before, begin).join(
            _union(session, dataset, members, *fields)
        )
        parts.append(joined.groupBy("window").agg(amount.alias("amount")))
    if parts and len(separators):
        table = _load(parts)
        np.add.at(total, table["window"].to_numpy(), table["amount"].to_numpy())
    return total


def _with_current(
    session: SparkSession, dataset: Dataset, separators: Separators, values: IntArray, field: str
) -> list[DataFrame]:
    """Return bulk events with `carried`, the value of their key's last separator; null before the first separator."""
    parts: list[DataFrame] = []
    for members in tie_classes(dataset):
        begin, end = _span(dataset, members)
        _, after = windows.between(separators, members[0], begin, end, values)
        buckets = windows.build(session, dataset, after, begin)
        parts.append(buckets.join(_union(session, dataset, members, field), "left"))
    return parts


def _span(dataset: Dataset, members: tuple[int, ...]) -> tuple[int, int]:
    """Return the first and last event time of the streams `members`."""
    filled = [dataset.streams[src] for src in members if dataset.streams[src].rows]
    if not filled:
        return 0, 0
    return min(s.ts_min for s in filled), max(s.ts_max for s in filled)


def _union(
    session: SparkSession, dataset: Dataset, members: tuple[int, ...], *fields: str
) -> DataFrame:
    """Return the union of streams as `ts`, `key`, fields and `src`, the stream's index."""
    frames = [
        read(session, dataset, src, *fields).withColumn("src", F.lit(src).cast("short"))
        for src in members
    ]
    return reduce(DataFrame.unionAll, frames)


def _load(parts: Sequence[DataFrame]) -> pa.Table:
    return reduce(DataFrame.unionAll, parts).toArrow()


def _append(columns: Columns, parts: Sequence[DataFrame]) -> Columns:
    """Return columns followed by the rows of data frames."""
    if not parts:
        return columns
    table = _load(parts)
    return {
        name: np.concatenate([column, table[name].to_numpy()]) for name, column in columns.items()
    }


def _replaced_values(updates: Separators) -> IntArray:
    """Return the value that each update replaces: that of the key's previous update, or 0."""
    order = np.argsort(updates.key, kind="stable")
    key, value = updates.key[order], updates.value[order]
    previous = np.zeros(len(key), dtype=np.int64)
    previous[1:] = np.where(key[1:] == key[:-1], value[:-1], 0)
    result = np.empty_like(previous)
    result[order] = previous
    return result
