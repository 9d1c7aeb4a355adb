"""The lab: runs workloads on engines, verifies every answer, measures, stores and shows.

For a workload of one's own: `from lab import csv, workload` (docs/extending.md). From a notebook:
`lab.run(...)` (docs/running.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.notebook import run
    from workloads.datasets.tables import arrays, arrow, csv, frame, parquet, rows
    from workloads.own import workload

_TABLES = "workloads.datasets.tables"
_PUBLIC = {
    "arrays": _TABLES,
    "arrow": _TABLES,
    "csv": _TABLES,
    "frame": _TABLES,
    "parquet": _TABLES,
    "rows": _TABLES,
    "run": "lab.notebook",
    "workload": "workloads.own",
}
"""By name, the module that has it, imported when it is asked for: measured processes import lab."""

__all__ = ["arrays", "arrow", "csv", "frame", "parquet", "rows", "run", "workload"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
