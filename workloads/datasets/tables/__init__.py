"""Turns tables into the input of any workload: files, frames, arrays and functions with named columns.

A table states the source of its rows and the meaning of their columns. The program determines the columns
that it reads. `dataset_of` makes the dataset, or finds it by the table's content.
"""

from streamlab.workloads.datasets.tables.constructors import (
    access_log,
    arrays,
    arrow,
    csv,
    frame,
    jsonl,
    parquet,
    rows,
)
from streamlab.workloads.datasets.tables.table import Table, TableSet
from streamlab.workloads.datasets.tables.table_dataset import content_key, dataset_of

__all__ = [
    "Table",
    "TableSet",
    "access_log",
    "arrays",
    "arrow",
    "content_key",
    "csv",
    "dataset_of",
    "frame",
    "jsonl",
    "parquet",
    "rows",
]
