"""Imports an access log with small splits, in a process that ends in the middle if a file `kill` exists."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from tests.workloads.datasets.cuts import cut_small

KILLED_AT = "/250"
EXIT_CODE = 9


def note(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Note the pages of rows."""
    pages = batch.column("url").to_pylist()
    with Path("calls").open("a", encoding="utf-8") as file:
        file.writelines(f"{page}\n" for page in pages)
    if KILLED_AT in pages and Path("kill").exists():
        os._exit(EXIT_CODE)
    return batch


KIND = replace(import_kind("access-log"), derive=note)


def imported(root: Path) -> Dataset:
    """Import `log.tsv` of the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, 500, files_too=True)
        options = ImportOptions(files=(Path("log.tsv").absolute(),))
        return import_files(KIND, options, catalog=Catalog(root=root))


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    imported(Path("data").absolute())
