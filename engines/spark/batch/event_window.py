"""Computes event windows in batch: joins events with broadcast barriers and sums per window."""

import numpy as np
from pyspark.sql import SparkSession

from streamlab.engines.spark.batch import counting
from streamlab.engines.spark.batch.markers import collect
from streamlab.engines.spark.layout import Layout
from streamlab.workloads.model import Columns


def run(session: SparkSession, plan: Layout) -> Columns:
    """Return one sum per barrier, in the order of barriers."""
    barriers = collect(session, plan)
    sums = counting.sums(session, plan, barriers, "value")
    return {"ts": barriers.ts, "sum": sums, "src": barriers.src.astype(np.int16)}
