"""Imports a table of users with small splits, in a process that ends in the middle if a file `kill` exists."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.tables import Table, csv
from tests.workloads.datasets.cuts import cut_small
from tests.workloads.datasets.tables.programs import made, pipeline

PROGRAM = pipeline(size=np.dtype(np.int32))
KILLED_AT = "user 250"
EXIT_CODE = 9


def size(text: str) -> int:
    with Path("calls").open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
    if text == KILLED_AT and Path("kill").exists():
        os._exit(EXIT_CODE)
    return len(text)


def table(path: Path) -> Table:
    return csv(path, ts="at", derive={"size": ("who", size)}, time_format="ms")


def imported(root: Path) -> Dataset:
    """Import `a.csv` of the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, 500, files_too=True)
        return made(table(Path("a.csv").absolute()), PROGRAM, Catalog(root=root))


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    imported(Path("data").absolute())
