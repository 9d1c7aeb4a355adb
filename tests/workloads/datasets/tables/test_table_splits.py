"""A table that is read in splits, by several tasks, is the table read from the first row to the last."""

import gzip
import json
import pickle
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, csv, dataset_of, jsonl, parquet
from streamlab.workloads.datasets.tables.source import Split
from streamlab.workloads.datasets.tables.split_reader import _load
from streamlab.workloads.datasets.tables.split_writer import SplitWriter, run_path, texts_path
from streamlab.workloads.datasets.text.report import MAX_NAMED
from tests.workloads.datasets.cuts import cut_small
from tests.workloads.datasets.tables.programs import COUNTER, made, pipeline

LINES = 400
PROGRAM = pipeline(who=np.dtype(np.int32), amount=np.dtype(np.int64), late=np.dtype(np.int64))
Result = tuple[str, dict[str, Any], dict[str, bytes]]


def imported(table: Table, folder: Path, program: Any = PROGRAM) -> Result | str:
    """Return the id, the report and the dictionaries of a dataset, or why there is none."""
    try:
        dataset = made(table, program, Catalog(root=folder))
    except DatasetError as error:
        return str(error).replace(".gz", "")
    report = json.loads(json.dumps({**dataset.origin, "files": []}).replace(".gz", ""))
    return dataset.id, report, {file.name: file.path.read_bytes() for file in dataset.dictionaries}


def both(table: Table, folder: Path, bytes_: int, program: Any = PROGRAM) -> Result | str:
    """Return the result of a table, after comparing it with that of its compressed files, which are not split."""
    packed = folder / "packed"
    packed.mkdir()
    for path in table.files():
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    names = [f"{path.name}.gz" for path in table.files()]
    whole = replace(table, source=replace(table.source, paths=names).relative_to(packed))  # type: ignore[type-var]
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, bytes_)
        assert len(table.source.splits()) > 2
        found = imported(table, folder / "cut", program)
        one = imported(whole, folder / "whole", program)
    if isinstance(found, str) or isinstance(one, str):
        assert str(found).replace(str(folder), "") == str(one).replace(str(packed), "")
        return found
    if one[1]["bad_rows"] > MAX_NAMED:  # a block names bad cells before records that are no CSV
        found[1]["bad_lines"] = one[1]["bad_lines"] = []
    for report in (found[1], one[1]):
        report["bad_lines"].sort()
    reports = json.dumps(found[1]), json.dumps(one[1])
    assert reports[0].replace(str(folder), "") == reports[1].replace(str(packed), "")
    assert found[::2] == one[::2]
    return found


def lines(odd: Callable[[random.Random, int], str | None], seed: int = 1) -> str:
    draw = random.Random(seed)
    rows = []
    for number in range(LINES):
        good = f"{1_700_000_000_000 + number * 10 + draw.randrange(40)},user {draw.randrange(60)},{number}"
        rows.append(odd(draw, number) or good)
    return "\n".join(["at,who,amount", *rows, ""])


def written(folder: Path, content: str) -> Path:
    path = folder / "a.csv"
    path.write_bytes(content.encode())
    return path


def of_csv(path: Path, **more: Any) -> Table:
    columns = {"late": "@late" if more.pop("is_late", False) else "-"}
    return csv(path, ts="at", ids=["who"], columns=columns, max_bad=1000, **more)


ODD: dict[str, Callable[[random.Random, int], str | None]] = {
    "sorted": lambda draw, n: f"{1_700_000_000_000 + n},user {n % 7},{n}",
    "unsorted": lambda draw, n: None,
    "one descent": lambda draw, n: f"{1_700_000_000_000 + n - 9 * (n == 300)},u{n % 7},{n}",
    "one time": lambda draw, n: f"1700000000000,user {n % 7},{n}",
    "bad": lambda draw, n: f"1700000000000,x,{n}.5" if n % 41 == 40 else None,
    "ragged": lambda draw, n: "1700000000000,x" if n % 41 == 40 else None,
    "empty lines": lambda draw, n: "\n" if n % 9 == 5 else None,
    "lines in cells": lambda draw, n: f'1700000000000,"u\n{n},""\n",3' if n % 2 else None,
    "long cells": lambda draw, n: (
        f'1700000000000,"{"1,2,3" * 9}{chr(10) * 40}",3' if n % 9 == 8 else None
    ),
    "stray quotes": lambda draw, n: f'1700000000000,a"b {n},3' if n % 3 else None,
    "late bad quotes": lambda draw, n: '1700000000000,"u"v,3' if n == 350 else None,
    "never closed": lambda draw, n: '1700000000000,"u,3' if n == 350 else None,
    "growing": lambda draw, n: f"{int(1.02**n * 50_000_000)},u{n % 7},{n}",
    "growing with a gap": lambda draw, n: f"{n * 10**6 if n < 300 else n * 10**10},u{n % 7},{n}",
    "empty times at first": lambda draw, n: f",u{n % 7},{n}" if n < 50 else None,
}


@pytest.mark.parametrize(
    "more", [{}, {"out_of_order": "20 ms"}, {"is_late": True}, {"quoted": False}]
)
@pytest.mark.parametrize("odd", ODD)
def test_splits_of_a_csv_give_the_same_dataset_and_report(odd: str, more: Any, tmp_path: Path):
    both(of_csv(written(tmp_path, lines(ODD[odd])), **more), tmp_path, 700)


CELLS = st.sampled_from(
    ['"', '""', ",", "\n", "\n", "\r\n", "7", "1,b,2\n", "9,c,1\n", '"a\n3,b,4\nc",', "x" * 50]
)


@settings(deadline=None, max_examples=25)
@given(content=st.lists(CELLS, min_size=40, max_size=120).map("".join), bytes_=st.integers(20, 90))
def test_splits_of_any_csv_give_the_same_dataset_and_report(content: str, bytes_: int):
    with tempfile.TemporaryDirectory() as folder:
        text = f"at,who,amount\n1,b,2\n{content}\n" + "5,d,6\n" * 40
        table = of_csv(written(Path(folder), text), time_format="ms")
        both(table, Path(folder), bytes_)


def test_splits_of_json_lines_give_the_same_dataset_and_report(tmp_path: Path):
    draw = random.Random(1)
    rows = [
        {
            "at": 1_700_000_000_000 + draw.randrange(10**6),
            "user": {"name": f"u{n % 31}"},
            "amount": n,
        }
        for n in range(LINES)
    ]
    texts = [json.dumps(row) for row in rows]
    texts[333] = "[1]"
    texts[334] = texts[334].replace('"amount": 334', '"amount": "334"')
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    columns = {"who": "user.name", "late": "-"}
    found = both(jsonl(path, ts="at", ids=["who"], columns=columns, max_bad=9), tmp_path, 1000)
    assert isinstance(found, tuple)
    assert "row 334: it is not a JSON object" in found[1]["bad_lines"][0]


def test_row_groups_of_parquet_give_the_same_dataset_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    draw = np.random.default_rng(1)
    columns = {
        "at": pa.array(draw.integers(0, 10**6, LINES)),
        "who": pa.array([f"u{n}" for n in draw.integers(0, 90, LINES)]),
        "amount": pa.array([None if n % 77 == 70 else n for n in range(LINES)]),
    }
    for name in ("a", "b"):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=7)
    table = parquet(
        [tmp_path / "a.parquet", tmp_path / "b.parquet"],
        ts="at", ids=["who"], columns={"late": "@row"}, max_bad=20, time_format="ms",
    )  # fmt: skip
    whole = imported(table, tmp_path / "whole")
    cut_small(monkeypatch)
    assert len(table.source.splits()) > 20
    found = imported(table, tmp_path / "cut")
    assert found == whole
    assert isinstance(found, tuple)
    assert "a.parquet: row 71, column amount: is empty" in found[1]["bad_lines"][0]


def test_keys_of_several_files_are_numbered_in_order_of_appearance(tmp_path: Path):
    paths = []
    for number in range(3):
        path = tmp_path / f"{number}.csv"
        path.write_text(lines(lambda draw, n: None, seed=number), encoding="utf-8")
        paths.append(path)
    table = csv(paths, ts="at", key="who", kind="=increment", streams=3)
    found = both(table, tmp_path, 500, COUNTER)
    assert isinstance(found, tuple)
    assert list(found[2]) == ["keys"]


@pytest.mark.spark
def test_splits_on_spark_give_the_same_dataset_and_report(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Spark's processes get the splits with their tasks, and the function by its value."""
    cut_small(monkeypatch, 700, files_too=True)
    path = written(tmp_path, lines(ODD["lines in cells"]))
    table = csv(
        path, ts="at", ids=["who"], derive={"amount": ("amount", lambda text: int(text))},
        columns={"late": "@late"}, out_of_order="1 min",
    )  # fmt: skip
    one, two = (
        dataset_of(table, "x", PROGRAM, Catalog(root=tmp_path / way), executor_name=way)
        for way in ("spark", "process")
    )
    assert (one.id, one.origin) == (two.id, two.origin)
    assert len(one.streams[0].paths) > 2


def test_blocks_of_empty_lists_have_no_texts(tmp_path: Path):
    lists = [[["a"], ["b", "a"]], [[]], [["b"]], [[], []]]
    writer = SplitWriter(tmp_path, 0)
    for number, block in enumerate(lists):
        ts = np.full(len(block), number)
        words = pa.array(block, pa.list_(pa.string()))
        writer.append({"ts": ts, "kind": np.zeros(len(block), np.int64), "words": words})
    writer.finish()
    texts = pickle.loads(texts_path(tmp_path, 0, 0).read_bytes())
    assert texts["words"].to_pylist() == ["a", "b"]
    with pa.OSFile(str(run_path(tmp_path, 0, 0, 0))) as file:
        stored = pa.ipc.open_file(file).read_all()["words"].to_pylist()
    assert stored == [[0], [1, 0], [], [1], [], []]


def test_splits_that_another_version_left_are_read_again(tmp_path: Path):
    path = tmp_path / "0.result"
    assert _load(path, Split()) is None
    for content in (b"", pickle.dumps(("another", None)), b"cnowhere\nFound\n."):
        path.write_bytes(content)
        assert _load(path, Split()) is None
