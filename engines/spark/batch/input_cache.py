"""Caches an input in Spark's memory before the clock starts, so that queries read no file.

`scan` returns the same plan on every call, and Spark reads a cached plan from memory in any query built on it.
The batch queries therefore need no change.
"""

from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.errors import EngineError
from streamlab.engines.spark.batch.markers import scan
from streamlab.engines.spark.layout import Layout


def cache(session: SparkSession, plan: Layout) -> tuple[DataFrame, ...]:
    """Read every stream into memory, and return the tables; `unpersist` frees them.

    Raises:
        EngineError: the tables do not fit into memory.
    """
    tables = tuple(scan(session, plan, src).persist() for src in range(len(plan.streams)))
    for table in tables:
        table.count()
    check_memory(session)
    return tables


def check_memory(session: SparkSession) -> None:
    """Check that Spark has not moved parts of cached tables to disk.

    Raises:
        EngineError: a part is on disk.
    """
    context = session.sparkContext._jsc.sc()
    spilled = sum(int(info.diskSize()) for info in context.getRDDStorageInfo())
    if spilled:
        raise EngineError(
            f"spark has too little memory for the input: {spilled:,} bytes of its tables are on "
            "disk and would be read inside the clock; use fewer events, or variant batch"
        )
