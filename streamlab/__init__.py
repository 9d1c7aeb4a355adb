"""Runs stream-processing workloads on engines, verifies every answer and measures.

`import streamlab as lab` for a workload of your own (`lab.csv`, `lab.workload`: docs/extending.md) and for
notebooks (`lab.run`: docs/running.md). `streamlab.engine` has what the author of an engine needs, and
`streamlab.figure` what the author of a figure needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamlab.lab.notebook import run
    from streamlab.workloads.datasets.tables import arrays, arrow, csv, frame, parquet, rows
    from streamlab.workloads.user_workload import workload

_TABLES = "streamlab.workloads.datasets.tables"
_PUBLIC = {
    "arrays": _TABLES,
    "arrow": _TABLES,
    "csv": _TABLES,
    "frame": _TABLES,
    "parquet": _TABLES,
    "rows": _TABLES,
    "run": "streamlab.lab.notebook",
    "workload": "streamlab.workloads.user_workload",
}
"""The module of each public name, imported on first use: measured processes import this package."""

__all__ = ["arrays", "arrow", "csv", "frame", "parquet", "rows", "run", "workload"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
