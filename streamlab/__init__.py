"""Runs stream-processing workloads on engines, verifies every answer and measures.

The package has what you need to define a workload (`csv`, `workload`: docs/extending.md) and to run from a notebook
(`run`: docs/running.md). Authors of engines import `streamlab.engine`; authors of figures import `streamlab.figure`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamlab.lab.notebook import run
    from streamlab.workloads.datasets.tables import (
        access_log,
        arrays,
        arrow,
        csv,
        frame,
        jsonl,
        parquet,
        rows,
    )
    from streamlab.workloads.join_workload import join
    from streamlab.workloads.user_workload import workload

_TABLES = "streamlab.workloads.datasets.tables"
_PUBLIC = {
    "access_log": _TABLES,
    "arrays": _TABLES,
    "arrow": _TABLES,
    "csv": _TABLES,
    "frame": _TABLES,
    "join": "streamlab.workloads.join_workload",
    "jsonl": _TABLES,
    "parquet": _TABLES,
    "rows": _TABLES,
    "run": "streamlab.lab.notebook",
    "workload": "streamlab.workloads.user_workload",
}
"""The module of each public name. Imported on first use, because measured processes import this package."""

__all__ = [
    "access_log",
    "arrays",
    "arrow",
    "csv",
    "frame",
    "join",
    "jsonl",
    "parquet",
    "rows",
    "run",
    "workload",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
