"""Runs stream-processing workloads on engines, verifies every answer and measures.

The package has what you need to define a workload (`csv`, `workload`: docs/extending.md) and to run from a notebook
(`run`: docs/running.md). Authors of engines import `streamlab.engine`; authors of figures import `streamlab.figure`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamlab.workloads.name_suggestions import suggest_names

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
    from streamlab.workloads.declarative.aggregates import (
        count,
        distinct,
        max,
        mean,
        min,
        percentile,
        sum,
    )
    from streamlab.workloads.declarative.bounded_fields import BoundedSet, LargestValues
    from streamlab.workloads.declarative.forms import (
        alert,
        count_window,
        deduplicate,
        flat_map,
        late_rows,
        select,
        session,
        top,
        window,
    )
    from streamlab.workloads.join_workload import join
    from streamlab.workloads.user_workload import outputs, workload

_TABLES = "streamlab.workloads.datasets.tables"
_AGGREGATES = "streamlab.workloads.declarative.aggregates"
_FORMS = "streamlab.workloads.declarative.forms"
_PUBLIC = {
    **dict.fromkeys(
        ("access_log", "arrays", "arrow", "csv", "frame", "jsonl", "parquet", "rows"), _TABLES
    ),
    **dict.fromkeys(("count", "distinct", "max", "mean", "min", "percentile", "sum"), _AGGREGATES),
    **dict.fromkeys(
        (
            "alert",
            "count_window",
            "deduplicate",
            "flat_map",
            "late_rows",
            "select",
            "session",
            "top",
            "window",
        ),
        _FORMS,
    ),
    **dict.fromkeys(
        ("BoundedSet", "LargestValues"), "streamlab.workloads.declarative.bounded_fields"
    ),
    "join": "streamlab.workloads.join_workload",
    "run": "streamlab.lab.notebook",
    **dict.fromkeys(("outputs", "workload"), "streamlab.workloads.user_workload"),
}
"""The module of each public name. Imported on first use, because measured processes import this package."""

__all__ = [
    "BoundedSet",
    "LargestValues",
    "access_log",
    "alert",
    "arrays",
    "arrow",
    "count",
    "count_window",
    "csv",
    "deduplicate",
    "distinct",
    "flat_map",
    "frame",
    "join",
    "jsonl",
    "late_rows",
    "max",
    "mean",
    "min",
    "outputs",
    "parquet",
    "percentile",
    "rows",
    "run",
    "select",
    "session",
    "sum",
    "top",
    "window",
    "workload",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    remedy = suggest_names(name, _PUBLIC)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {remedy}")
