"""Datasets are the same, whichever way they are made."""

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.workloads.datasets.files import edit_line, log_line, text_file
from workloads.datasets import rows
from workloads.datasets.build import build
from workloads.datasets.catalog import Catalog
from workloads.datasets.errors import DatasetError
from workloads.datasets.executor import InProcess, OnSpark, executor
from workloads.datasets.imports.kind import ImportOptions
from workloads.datasets.imports.registry import KINDS, import_kind
from workloads.datasets.imports.run import import_files
from workloads.datasets.manifest import dictionaries
from workloads.datasets.text import decoding
from workloads.registry import names, workload

LINES = 700
SEED = 7


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def access_log(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        log_line(
            ts, f"/{some(30)}", str(some(4)), host=f"h{some(20)}", response=200 + 104 * some(2)
        )
        for ts in times
    ]


def linear_road(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts} {some(40)} 30 0 1 0 {5280 * some(100)}" for ts in times]


def retail(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts},{some(90)},{some(50)},{some(999)},c{some(9)}" for ts in times]


def trades(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts},{1 + some(999)},S{some(12)}" for ts in times]


def text(some: Callable[[int], int]) -> str:
    return " ".join(f"{'#' if not some(6) else ''}w{some(80)}" for _ in range(some(9)))


def tweets(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts},u{some(9)},{text(some)}" for ts in times]


def edits(times: list[int], some: Callable[[int], int]) -> list[str]:
    hours = (3_600_000 * ts // 50 for ts in times)
    lines = (edit_line(iso(ms), f"p{some(60)}") for ms in hours)
    return [f'{line[:-1]}, "user": "u{some(9)}", "comment": "{text(some)}"}}' for line in lines]


def readings(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        f"16/01/2012 {ts // 3600:02}:{ts // 60 % 60:02}:{ts % 60:02};{some(99)};{some(99)}"
        for ts in times
    ]


def debs(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"1,{60 * ts},{some(99)}.5,{some(2)},{some(5)},{some(2)},{some(3)}" for ts in times]


def connections(times: list[int], some: Callable[[int], int]) -> list[str]:
    def line() -> str:
        texts = f"{('tcp', 'udp')[some(2)]},s{some(5)},SF"
        return ",".join((str(some(9)), texts, *(str(some(2)) for _ in range(37)), "normal."))

    return [line() for _ in times]


def ad_events(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        f'{{"user_id": "u{some(40)}", "page_id": "p{some(5)}", "ad_id": "ad-{some(30)}", '
        f'"event_type": "view", "event_time": {ts}, "ip_address": "1.2.3.{some(9)}"}}'
        for ts in times
    ]


def open_bandit(times: list[int], some: Callable[[int], int]) -> list[str]:
    features = ",".join(f"user_feature_{n}" for n in range(4))
    head = f"timestamp,item_id,position,click,{features}"
    return [
        head,
        *(f"{iso(1000 * ts)},{some(30)},{1 + some(3)},{some(2)},a{some(9)},b,c,d" for ts in times),
    ]


MS = {"time": "ms"}
RAW: dict[str, tuple[Any, dict[str, Any]]] = {
    "ad-events": (ad_events, {"streams": 2}),
    "open-bandit": (open_bandit, {"streams": 2}),
    "access-log": (access_log, {"streams": 3}),
    "debs-2014": (
        debs,
        {
            "streams": 2,
            "settings": {"houses": 3, "households-per-house": 2, "plugs-per-household": 5},
        },
    ),
    "kdd-cup": (connections, {"streams": 2, "settings": {"check-every": 100}}),
    "linear-road": (linear_road, {"streams": 2}),
    "retail": (
        retail,
        {
            "streams": 2,
            "columns": {"ts": "1", "ticket": "2", "item": "3", "net_paid": "4", "category": "5"},
            "settings": MS,
        },
    ),
    "tweets": (
        tweets,
        {"streams": 2, "columns": {"ts": "1", "user": "2", "text": "3"}, "settings": MS},
    ),
    "wikipedia-comments": (edits, {"streams": 2}),
    "tracebase": (readings, {}),
    "tracebase-homes": (
        readings,
        {"settings": {"households-per-house": 1, "plugs-per-household": 2}},
    ),
    "trades": (
        trades,
        {"columns": {"ts": "1", "price": "2", "symbol": "3"}, "settings": {**MS, "top": 5}},
    ),
    "wikipedia-edits": (edits, {"streams": 2}),
}


NAMES = dict.fromkeys(("tracebase", "tracebase-homes"), "dev_A_2012.01.16.csv")
"""Of the raw files, for kinds that mind them."""
_FEATURES = ",".join(f"item_feature_{n}" for n in range(4))
TABLES = {
    "ad-events": (
        "campaigns",
        tuple(f'{{"ad-{ad}": "c-{ad % 4}"}}' for ad in range(30)),
    ),
    "open-bandit": (
        "items",
        (f"item_id,{_FEATURES}", *(f"{item},1,c-{item % 4},x,y" for item in range(30))),
    ),
}
"""Settings that name a table, and its lines, for kinds that want one."""


def imported(kind: str, folder: Path, name: str, way: str) -> tuple[str, dict[str, bytes]]:
    """Return the id of a dataset with ties, out of order, and its dictionaries' files."""
    make, options = RAW[kind]
    draw = random.Random(SEED)
    times = [draw.randrange(LINES // 2) for _ in range(LINES)]
    file = folder / NAMES.get(kind, f"{kind}.txt")
    text_file(file, *make(times, draw.randrange))
    if kind in TABLES:
        setting, lines = TABLES[kind]
        options = {**options, "settings": {setting: str(text_file(folder / "table", *lines))}}
    catalog = Catalog(root=folder / name)
    chosen = ImportOptions(files=(file,), sort=True, **options)
    dataset = import_files(import_kind(kind), chosen, catalog=catalog, way=way)
    assert dataset.events > LINES // 3
    assert dataset.origin["rows_out_of_order"] or kind == "kdd-cup"  # whose rows are their times
    texts = dictionaries(catalog.folder(dataset.id))
    return dataset.id, {name: path.read_bytes() for name, path in texts.items()}


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
    monkeypatch.setattr(rows, "BLOCK_ROWS", 17)
    monkeypatch.setattr(decoding, "BLOCK_BYTES", 100)
    monkeypatch.setattr(decoding, "_PIECE_BYTES", 100)
    assert imported(kind, tmp_path, "cut", "process") == whole


@pytest.mark.some(5)
@pytest.mark.spark
@pytest.mark.parametrize("name", {workload(name).input_name: name for name in names()}.values())
def test_what_is_generated_on_spark_is_what_is_generated_in_process(
    name: str, spark: SparkSession, tmp_path: Path
):
    one, two = (
        build(workload(name), {}, 3000, SEED, catalog=Catalog(root=tmp_path / way), way=way)
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
