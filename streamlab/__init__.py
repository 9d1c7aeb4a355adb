"""Runs stream-processing workloads on engines, verifies every answer and measures each run.

This package has all you need to define a workload (`csv`, `workload`; see docs/extending.md) and to run it from a
notebook (`run`; see docs/running.md).
Authors of engines import `streamlab.engine`; authors of figures import `streamlab.figure`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamlab.workloads.name_suggestions import suggest_names

if TYPE_CHECKING:
    from streamlab.lab.notebook import run as run
    from streamlab.workloads.datasets.tables import access_log as access_log
    from streamlab.workloads.datasets.tables import arrays as arrays
    from streamlab.workloads.datasets.tables import arrow as arrow
    from streamlab.workloads.datasets.tables import csv as csv
    from streamlab.workloads.datasets.tables import frame as frame
    from streamlab.workloads.datasets.tables import jsonl as jsonl
    from streamlab.workloads.datasets.tables import parquet as parquet
    from streamlab.workloads.datasets.tables import rows as rows
    from streamlab.workloads.declarative.aggregates import count as count
    from streamlab.workloads.declarative.aggregates import distinct as distinct
    from streamlab.workloads.declarative.aggregates import max as max
    from streamlab.workloads.declarative.aggregates import mean as mean
    from streamlab.workloads.declarative.aggregates import min as min
    from streamlab.workloads.declarative.aggregates import percentile as percentile
    from streamlab.workloads.declarative.aggregates import sum as sum
    from streamlab.workloads.declarative.bounded_fields import BoundedSet as BoundedSet
    from streamlab.workloads.declarative.bounded_fields import LargestValues as LargestValues
    from streamlab.workloads.declarative.row_forms import alert as alert
    from streamlab.workloads.declarative.row_forms import deduplicate as deduplicate
    from streamlab.workloads.declarative.row_forms import flat_map as flat_map
    from streamlab.workloads.declarative.row_forms import late_rows as late_rows
    from streamlab.workloads.declarative.row_forms import select as select
    from streamlab.workloads.declarative.window_forms import count_window as count_window
    from streamlab.workloads.declarative.window_forms import session as session
    from streamlab.workloads.declarative.window_forms import top as top
    from streamlab.workloads.declarative.window_forms import window as window
    from streamlab.workloads.join_workload import join as join
    from streamlab.workloads.user_workload import outputs as outputs
    from streamlab.workloads.user_workload import workload as workload

_NAMES = {
    "streamlab.lab.notebook": "run",
    "streamlab.workloads.datasets.tables": "access_log arrays arrow csv frame jsonl parquet rows",
    "streamlab.workloads.declarative.aggregates": "count distinct max mean min percentile sum",
    "streamlab.workloads.declarative.bounded_fields": "BoundedSet LargestValues",
    "streamlab.workloads.declarative.row_forms": "alert deduplicate flat_map late_rows select",
    "streamlab.workloads.declarative.window_forms": "count_window session top window",
    "streamlab.workloads.join_workload": "join",
    "streamlab.workloads.user_workload": "outputs workload",
}
_PUBLIC = {name: module for module, names in _NAMES.items() for name in names.split()}
"""The module of each public name. Modules load on first use, because measured processes import this package."""


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    remedy = suggest_names(name, _PUBLIC)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {remedy}")
