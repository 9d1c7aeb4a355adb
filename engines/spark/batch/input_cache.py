"""Brings an input into Spark's memory before the clock starts, so that queries read no file.

`scan` gives the same plan each time that it is called, and Spark reads a plan that it has cached
from there, whatever is built on it: the queries of `batch` need not know.
"""

from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.errors import EngineError
from streamlab.engines.spark.batch.markers import scan
from streamlab.engines.spark.layout import Layout


def cache(session: SparkSession, plan: Layout) -> tuple[DataFrame, ...]:
    """Read every stream into memory, and return the tables; `unpersist` lets go of them.

    Raises:
        EngineError: they do not fit, and a part of them would be on disk.
    """
    tables = tuple(scan(session, plan, src).persist() for src in range(len(plan.streams)))
    for table in tables:
        table.count()
    check_memory(session)
    return tables


def check_memory(session: SparkSession) -> None:
    """Check that no part of a cached table is on disk, where a query may have driven it to.

    Raises:
        EngineError: a part is.
    """
    context = session.sparkContext._jsc.sc()
    spilled = sum(int(info.diskSize()) for info in context.getRDDStorageInfo())
    if spilled:
        raise EngineError(
            f"spark has no memory for the input: {spilled:,} bytes of its tables are on disk, and "
            "are read inside the clock; use fewer events, or variant batch"
        )
