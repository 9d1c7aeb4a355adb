"""Datasets are the same, whichever way they are made."""

import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from streamlab.workloads.datasets import stream_table
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import InProcess, OnSpark, executor
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import KINDS, import_kind
from streamlab.workloads.datasets.text import decoding
from streamlab.workloads.registry import names, workload
from tests.workloads.datasets.files import text_file
from tests.workloads.datasets.raw_files import RAW, options_of, raw_file

LINES = 700
SEED = 7


def imported(kind: str, folder: Path, name: str, way: str) -> tuple[str, dict[str, bytes]]:
    """Return the id of a dataset with ties, out of order, and its dictionaries' files."""
    make, _ = RAW[kind]
    draw = random.Random(SEED)
    times = [draw.randrange(LINES // 2) for _ in range(LINES)]
    file = text_file(raw_file(kind, folder), *make(times, draw.randrange))
    catalog = Catalog(root=folder / name)
    chosen = ImportOptions(files=(file,), sort=True, **options_of(kind, folder))
    dataset = import_files(import_kind(kind), chosen, catalog=catalog, way=way)
    assert dataset.events > LINES // 3
    assert dataset.origin["rows_out_of_order"] or kind == "kdd-cup"  # whose rows are their times
    return dataset.id, {file.name: file.path.read_bytes() for file in dataset.dictionaries}


def test_every_kind_of_import_is_tried():
    assert sorted(RAW) == sorted(kind.name for kind in KINDS)


@pytest.mark.some(5)
@pytest.mark.spark
@pytest.mark.parametrize("kind", RAW)
def test_an_import_on_spark_is_that_in_process(kind: str, spark: SparkSession, tmp_path: Path):
    assert imported(kind, tmp_path, "a", "spark") == imported(kind, tmp_path, "b", "process")


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", RAW)
def test_the_size_of_blocks_changes_no_import(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = imported(kind, tmp_path, "whole", "process")
    monkeypatch.setattr(stream_table, "BLOCK_ROWS", 17)
    monkeypatch.setattr(decoding, "BLOCK_BYTES", 100)
    assert imported(kind, tmp_path, "cut", "process") == whole


@pytest.mark.some(5)
@pytest.mark.spark
@pytest.mark.parametrize("name", {workload(name).input_name: name for name in names()}.values())
def test_what_is_generated_on_spark_is_what_is_generated_in_process(
    name: str, spark: SparkSession, tmp_path: Path
):
    one, two = (
        ensure(workload(name), {}, 3000, SEED, catalog=Catalog(root=tmp_path / way), way=way)
        for way in ("spark", "process")
    )
    assert one.id == two.id


@pytest.mark.full
@pytest.mark.spark
def test_spark_sorts_in_the_same_order(spark: SparkSession, tmp_path: Path):
    times = np.random.default_rng(SEED).integers(-1000, 1000, 2_500_000)
    times.tofile(tmp_path / "times")
    InProcess().order(tmp_path / "times", tmp_path / "one")
    OnSpark(spark).order(tmp_path / "times", tmp_path / "two")
    one, two = (np.fromfile(tmp_path / name, np.int64) for name in ("one", "two"))
    assert np.array_equal(one, np.lexsort((np.arange(len(times)), times)))
    assert np.array_equal(one, two)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "times", "two"]


def test_large_data_is_made_in_process_without_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with executor("x", "auto", small=False, master="local[*]") as on:
        assert isinstance(on, InProcess)


def test_a_disk_that_fails_in_process_is_told():
    with (
        pytest.raises(DatasetError, match=r"import x failed: .*No space left on device"),
        executor("import x", "auto", small=True, master="local[*]") as on,
    ):
        on.run(fill_the_disk, 1)


def fill_the_disk(index: int) -> None:
    file = os.open("/dev/full", os.O_WRONLY)
    try:
        os.write(file, b"1")
    finally:
        os.close(file)


def test_another_way_is_refused():
    with (
        pytest.raises(DatasetError, match="--with is 'flink'; give one of auto, process, spark"),
        executor("x", "flink", small=True, master="local[*]"),
    ):
        pass
