"""The data pipeline: generates or imports datasets as sorted Parquet files in a catalogue.

Modules of this package import PyArrow (`pa`, `pc`, `pq`, `pa_csv`, `pa_json`) and Spark (`pyspark`, `py4j`) from here.
Each is loaded at its first use, because loading PyArrow takes 0.2 s and most commands do not need it.
"""

from typing import TYPE_CHECKING

from streamlab.workloads.optional_packages import LazyModule

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.json as pa_json
    import pyarrow.parquet as pq
    import pyspark.errors
    import pyspark.java_gateway
    import pyspark.sql
    from py4j import protocol as py4j  # type: ignore[import-untyped]  # has no stubs

__all__ = ["pa", "pa_csv", "pa_json", "pc", "pq", "py4j", "pyspark"]


if not TYPE_CHECKING:
    pa, pc = LazyModule("pyarrow"), LazyModule("pyarrow.compute")
    pa_csv, pq = LazyModule("pyarrow.csv"), LazyModule("pyarrow.parquet")
    pa_json = LazyModule("pyarrow.json")
    pyspark, py4j = LazyModule("pyspark"), LazyModule("py4j.protocol")
