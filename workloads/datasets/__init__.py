"""The data pipeline: generates or imports datasets as sorted Parquet files in a catalogue.

Modules below import PyArrow from here: `pa`, `pc`, `pq` and `pa_csv` load at their first use. Loading takes 0.2 s,
and most commands only need the declarations of tables and datasets.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

__all__ = ["pa", "pa_csv", "pc", "pq"]


class _LazyModule(ModuleType):
    """Stands for a module until an attribute is needed."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if not TYPE_CHECKING:
    pa, pc = _LazyModule("pyarrow"), _LazyModule("pyarrow.compute")
    pa_csv, pq = _LazyModule("pyarrow.csv"), _LazyModule("pyarrow.parquet")
