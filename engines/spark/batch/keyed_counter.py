"""Computes keyed counters in batch: joins increments with broadcast read-resets, by key, and counts per window."""

import numpy as np
from pyspark.sql import SparkSession

from streamlab.engines.spark.batch import counting
from streamlab.engines.spark.batch.markers import collect
from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Columns


def run(session: SparkSession, plan: Layout) -> Columns:
    """Return one count per read-reset, in the order of read-resets."""
    resets = collect(session, plan)
    counts = counting.sums(session, plan, resets, None)
    return {"ts": resets.ts, "key": resets.key, "count": counts, "src": resets.src.astype(np.int16)}
