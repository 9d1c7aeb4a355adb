"""Imports a table or an access log with small splits, in a process that ends in the middle if a file `kill` exists."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.tables import csv
from tests.workloads.datasets.cuts import cut_small
from tests.workloads.datasets.tables.programs import made, pipeline

KILLED_AT, EXIT_CODE = "/250", 9
PROGRAM = pipeline(size=np.dtype(np.int32))


def note(pages: Sequence[str]) -> None:
    """Note the pages of rows, and end the process at a certain one."""
    with Path("calls").open("a", encoding="utf-8") as file:
        file.writelines(f"{page}\n" for page in pages)
    if KILLED_AT in pages and Path("kill").exists():
        os._exit(EXIT_CODE)


def size(page: str) -> int:
    note([page])
    return len(page)


def noted(batch: pa.RecordBatch) -> pa.RecordBatch:
    note(batch.column("url").to_pylist())
    return batch


def imported(form: str, root: Path) -> Dataset:
    """Import the file `rows` of the working folder."""
    file, catalog = Path("rows").absolute(), Catalog(root=root)
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, 500, files_too=True)
        if form == "table":
            table = csv(file, ts="at", derive={"size": ("page", size)}, time_format="ms")
            return made(table, PROGRAM, catalog)
        kind = replace(import_kind(form), derive=noted)
        return import_files(kind, ImportOptions(files=(file,)), catalog=catalog)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    imported(sys.argv[1], Path("data").absolute())
