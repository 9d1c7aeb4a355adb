"""Datasets are the same, whichever way they are made."""

import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from streamlab.workloads.datasets import builder
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import open_executor
from streamlab.workloads.datasets.imports.access_log import COLUMNS
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import KINDS, import_kind
from streamlab.workloads.datasets.integrity import verify
from streamlab.workloads.datasets.stream_file import file_parts, write_part
from streamlab.workloads.datasets.tables.constructors import arrays
from streamlab.workloads.datasets.tables.table_dataset import dataset_of
from streamlab.workloads.registry import names, workload
from tests.workloads.datasets import killed_import
from tests.workloads.datasets.cuts import cut_small
from tests.workloads.datasets.files import log_line, text_file
from tests.workloads.datasets.raw_files import RAW, options_of, raw_file

LINES, PAGES = 700, 400
SEED = 7


def imported(kind: str, folder: Path, name: str, way: str) -> tuple[str, Any, dict[str, bytes]]:
    """Return the id of a dataset of two files with ties, out of order, its report, and its dictionaries."""
    make, _ = RAW[kind]
    draw = random.Random(SEED)
    files = []
    for place in (folder / "one", folder / "two"):
        place.mkdir(exist_ok=True)
        lines = make([draw.randrange(LINES // 2) for _ in range(LINES)], draw.randrange)
        lines[LINES // 2 : LINES // 2] = ["", "bad"]
        files.append(text_file(raw_file(kind, place), *lines))
    catalog = Catalog(root=folder / name)
    options = ImportOptions(files=tuple(files), sort=True, max_bad=2, **options_of(kind, folder))
    dataset = import_files(import_kind(kind), options, catalog=catalog, executor_name=way)
    assert dataset.events > LINES // 3
    assert dataset.origin["rows_out_of_order"] or kind == "kdd-cup"  # whose rows are their times
    dictionaries = {file.name: file.path.read_bytes() for file in dataset.dictionaries}
    return dataset.id, dataset.origin, dictionaries


def test_every_kind_of_import_is_tried():
    assert sorted(RAW) == sorted(kind.name for kind in KINDS)


@pytest.mark.some(5)
@pytest.mark.spark
@pytest.mark.parametrize("kind", RAW)
def test_an_import_on_spark_is_that_in_process(
    kind: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Spark's processes get the splits with their tasks."""
    cut_small(monkeypatch, 3000)
    assert imported(kind, tmp_path, "a", "spark") == imported(kind, tmp_path, "b", "process")


@pytest.mark.spark
def test_a_table_on_spark_is_that_in_process(spark: SparkSession, tmp_path: Path):
    draw = np.random.default_rng(SEED)
    user = draw.integers(0, 50, LINES).astype(str)
    columns = {"at": draw.integers(0, LINES, LINES), "user": user, "amount": np.arange(LINES)}
    program = workload("keyed_counter").program
    table = arrays(columns, ts="at", key="user", kind="=increment", time_format="ms")
    one, two = (
        dataset_of(table, "x", program, Catalog(root=tmp_path / way), executor_name=way)
        for way in ("spark", "process")
    )
    assert one.id == two.id
    assert one.origin["rows_out_of_order"]


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", RAW)
def test_the_size_of_blocks_changes_no_import(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = imported(kind, tmp_path, "whole", "process")
    cut_small(monkeypatch, 700)
    assert imported(kind, tmp_path, "cut", "process") == whole


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("table", ["at,page", *(f"{n},/{n}" for n in range(PAGES))]),
        ("access-log", ["\t".join(COLUMNS), *(log_line(n, f"/{n}", "1") for n in range(PAGES))]),
    ],
)
def test_an_import_that_was_killed_is_resumed_with_its_finished_splits(
    form: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text_file(tmp_path / "rows", *lines)
    (tmp_path / "kill").touch()
    command = [sys.executable, "-m", killed_import.__name__, form, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == killed_import.EXIT_CODE
    (tmp_path / "kill").unlink()
    monkeypatch.chdir(tmp_path)
    resumed = killed_import.imported(form, tmp_path / "data")
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls.count("/0") == 1
    assert calls.count(killed_import.KILLED_AT) == 2
    assert len(list((tmp_path / "data").glob(".*"))) == 0
    assert {len(stream.paths) for stream in resumed.streams} == {PAGES // 50}
    verify(resumed)
    assert killed_import.imported(form, tmp_path / "fresh").id == resumed.id


@pytest.mark.some(5)
@pytest.mark.spark
@pytest.mark.parametrize("name", {workload(name).input_name: name for name in names()}.values())
def test_spark_generates_the_same_input_as_one_process(
    name: str, spark: SparkSession, tmp_path: Path
):
    one, two = (
        ensure(
            workload(name), {}, 3000, SEED, catalog=Catalog(root=tmp_path / way), executor_name=way
        )
        for way in ("spark", "process")
    )
    assert one.id == two.id


@pytest.mark.spark
@pytest.mark.parametrize("way", ["process", "spark"])
def test_streams_of_several_files_are_the_same_input(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request
):
    """A stream of one file, cut into several: Spark's processes get the cuts with their tasks."""
    if way == "spark":
        request.getfixturevalue("spark")
    chosen, params = workload("page_view_join"), {"streams": 2}
    whole = ensure(chosen, params, 50_000, SEED, catalog=Catalog(root=tmp_path / "whole")).load()
    monkeypatch.setattr(builder, "ROWS_PER_FILE", 7_000)
    cut = ensure(
        chosen, params, 50_000, SEED, catalog=Catalog(root=tmp_path / "cut"), executor_name=way
    )
    assert max(len(stream.paths) for stream in cut.streams) > 2
    assert all(path.is_file() for stream in cut.streams for path in stream.paths)
    verify(cut)
    for one, other in zip(whole.streams, cut.load().streams, strict=True):
        assert np.array_equal(one.ts, other.ts)
        assert one.payload.keys() == other.payload.keys()
        assert all(np.array_equal(one.payload[name], other.payload[name]) for name in one.payload)


def test_a_build_that_was_killed_is_resumed_with_its_finished_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(builder, "ROWS_PER_FILE", 1_000)
    catalog, chosen = Catalog(root=tmp_path / "resumed"), workload("event_window")
    recipe = builder.recipe_of(chosen, chosen.params({}), 20_000, SEED)
    with catalog.staging(recipe) as staging:
        ended = subprocess.run(
            [sys.executable, "-c", "import os; print(os.getpid())"],
            capture_output=True,
            text=True,
            check=True,
        )
        left = staging.with_name(staging.name.replace(str(os.getpid()), ended.stdout.strip()))
        specs = chosen.streams(chosen.params({}), 20_000)
        parts = file_parts((spec.events for spec in specs), builder.ROWS_PER_FILE)
        folder = staging / "dataset"
        folder.mkdir()
        write = partial(builder._write, "event_window", chosen.params({}), SEED, specs, folder)
        for index in range(3):
            write_part(parts, write, folder, index)
        staging.rename(left)
    finished = {path.name: path.stat().st_mtime_ns for path in (left / "dataset").glob("*.parquet")}
    dataset = ensure(chosen, {}, 20_000, SEED, catalog=catalog)
    folder = catalog.folder(dataset.id)
    assert {name: (folder / name).stat().st_mtime_ns for name in finished} == finished
    assert len(finished) == 3
    assert not left.exists()
    assert {path.suffix for path in folder.iterdir()} == {".json", ".parquet"}
    fresh = ensure(chosen, {}, 20_000, SEED, catalog=Catalog(root=tmp_path / "fresh"))
    assert dataset.id == fresh.id


def test_a_disk_that_fails_in_process_is_reported():
    with (
        pytest.raises(DatasetError, match=r"import x failed: .*No space left on device"),
        open_executor("import x", "auto", master="local[*]") as on,
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
        open_executor("x", "flink", master="local[*]"),
    ):
        pass
