"""The data pipeline: generates or imports datasets as sorted Parquet files in a catalogue.

Modules below import PyArrow (`pa`, `pc`, `pq`, `pa_csv`) and Spark (`pyspark`, `py4j`) from here: each is loaded at its
first use. Loading PyArrow takes 0.2 s, and most commands only need the declarations of tables and datasets.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq
    import pyspark.errors
    import pyspark.java_gateway
    import pyspark.sql
    from py4j import protocol as py4j  # type: ignore[import-untyped]  # has no stubs

__all__ = ["pa", "pa_csv", "pc", "pq", "py4j", "pyspark"]


class _LazyModule(ModuleType):
    """Stands for a module until an attribute is needed."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if not TYPE_CHECKING:
    pa, pc = _LazyModule("pyarrow"), _LazyModule("pyarrow.compute")
    pa_csv, pq = _LazyModule("pyarrow.csv"), _LazyModule("pyarrow.parquet")
    pyspark, py4j = _LazyModule("pyspark"), _LazyModule("py4j.protocol")
