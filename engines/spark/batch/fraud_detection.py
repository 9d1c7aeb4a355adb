"""Detects fraud in batch: sums per rule, models in the driver, then a second scan that applies them.

The aggregate does not depend on which transactions are fraudulent, so the definition's loop unrolls into two joins.
Two cheap scans are faster than storing the joined rows of the first.
"""

from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.spark.batch import counting, windows
from streamlab.engines.spark.batch.counting import span, union
from streamlab.engines.spark.batch.markers import Markers, collect
from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Columns
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS


def run(session: SparkSession, plan: Layout) -> Columns:
    """Return all aggregates and all fraudulent transactions, unordered."""
    rules = collect(session, plan, "value")
    sums = counting.sums(session, plan, rules, "value")
    frauds = _frauds(session, plan, rules, (sums + rules.value) % MODULUS)
    count = sum(len(table) for table in frauds)
    return {
        "ts": np.concatenate([rules.ts, *(table["ts"].to_numpy() for table in frauds)]),
        "kind": np.repeat(np.array([AGGREGATE, FRAUD], np.int8), [len(rules), count]),
        "value": np.concatenate([sums, *(table["value"].to_numpy() for table in frauds)]),
        "src": np.concatenate([rules.src, *(table["src"].to_numpy() for table in frauds)]),
    }


def _frauds(
    session: SparkSession, plan: Layout, rules: Markers, models: windows.Int64
) -> list[pa.Table]:
    parts: list[DataFrame] = []
    for members in plan.tie_classes():
        begin, end = span(plan, members)
        _, after = windows.between(rules, members[0], begin, end, models)
        buckets = windows.build(session, plan, after, begin)
        bulk = union(session, plan, members, "value")
        # Before the first rule the model is 0: no window, so the outer join gives null.
        fraud = buckets.join(bulk, "left").where(f"pmod(value, {MODULUS}) = coalesce(carried, 0)")
        parts.append(fraud.select("ts", "value", "src"))
    return [reduce(DataFrame.unionAll, parts).toArrow()] if parts else []
