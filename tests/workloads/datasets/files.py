"""Raw files to import, and where the real ones are."""

import gzip
import json
import lzma
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.reference.adapter import PreparedReference
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.executor import InProcess
from streamlab.workloads.datasets.imports.access_log import COLUMNS
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.kind_rows import KindRows
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.sorted_runs import join_blocks
from streamlab.workloads.datasets.tables.split_reader import read_splits
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.model import Columns, Input, ListColumn, Workload
from streamlab.workloads.model.answers.trace import compare

REAL = Path(os.environ.get("LAB_REAL_DATA") or Path(__file__).parents[4] / "shared" / "data")


def real(name: str) -> Path:
    path = REAL / name
    if not path.is_file():
        pytest.skip(f"real input {path} is not on this machine; LAB_REAL_DATA says where it is")
    return path


def imported(catalog: Catalog, kind: str, *files: Path, **options: Any) -> Dataset:
    return import_files(import_kind(kind), ImportOptions(files=files, **options), catalog=catalog)


def texts(dataset: Dataset, name: str) -> list[str]:
    """Return the texts of a dictionary, by id."""
    (path,) = (file.path for file in dataset.dictionaries if file.name == name)
    table = pq.read_table(path).to_pydict()
    assert table["id"] == list(range(len(table["id"])))
    return table["text"]


def rows(data: Dataset | Input, *names: str) -> list[list[tuple[int, ...]]]:
    """Return `ts` and these columns of each stream, by row."""
    return [
        list(zip(stream.ts.tolist(), *(stream.payload[n].tolist() for n in names), strict=True))
        for stream in (data.load() if isinstance(data, Dataset) else data).streams
    ]


def expected_answer(bound: Workload, data: Input) -> Columns:
    """Return the oracle's answer, after comparing it with that of the reference engine."""
    prepared = PreparedReference(bound.program, data)
    prepared.run()
    expected = bound.oracle(data)
    difference = compare(expected, prepared.answer(), bound.output)
    assert difference.equal, difference.render()
    return expected


def rows_of(kind: str, *files: Path, **options: Any) -> tuple[RowReport, list[tuple[Any, ...]]]:
    """Read files as an import does; return the account of the lines, and rows from `ts` on."""
    of = import_kind(kind)
    chosen = of.complete(ImportOptions(files=files, **options))
    with tempfile.TemporaryDirectory() as folder:
        found = read_splits(KindRows(kind=of, options=chosen), Path(folder) / "rows", InProcess())
        numberings = {column: Numbering() for column in found.text_columns()}
        found.number(numberings)
        blocks = list(found.rows_of_kind(0).blocks())
        if not blocks:
            return found.report, []
        columns = {
            name: list(column.rows() if isinstance(column, ListColumn) else column)
            for name, column in join_blocks(blocks).items()
        }
    for name, numbering in numberings.items():
        known = list(numbering.texts())
        columns[name] = [
            [known[id_] for id_ in cell] if isinstance(cell, list) else known[cell]
            for cell in columns[name]
        ]
    order = np.argsort(columns.pop("row"))
    return found.report, [tuple(column[row] for column in columns.values()) for row in order]


def log_line(
    ts: int, url: str, size: str, response: int = 200, host: str = "h", method: str = "GET"
) -> str:
    return "\t".join([host, "-", str(ts), method, url, str(response), size, "", ""])


def edit_line(time: str, page: str) -> str:
    return json.dumps({"time": time, "page": page})


def log_file(folder: Path, *lines: str, header: bool = True, name: str = "log.tsv") -> Path:
    return text_file(folder / name, *(["\t".join(COLUMNS)] if header else []), *lines)


def text_file(path: Path, *lines: str) -> Path:
    content = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content)
    elif path.suffix == ".xz":
        content = lzma.compress(content)
    path.write_bytes(content)
    return path
