"""Programs with several inputs read a table for each."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.lab.cli.commands.data import table_words
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.remedy import rebuild_command
from streamlab.workloads.datasets.tables import TableSet, arrays, content_key, csv
from streamlab.workloads.registry import workload
from tests.workloads.datasets.tables.programs import PAIRS, TRUCKS, VIEWS, made, text

VIEW_LINES = ("at,who,url", "2024-01-01 09:00,ann,home", "2024-01-01 09:02,bob,shop")
UPDATE_LINES = ("when;page;zip", "2024-01-01 13:01;shop;8000", "2024-01-01 12:59;home;9000")


def page_tables(folder: Path) -> TableSet:
    """Views in local time with a text user; updates in UTC, unsorted, with other columns."""
    views = csv(
        text(folder / "views.csv", *VIEW_LINES),
        ts="at",
        key="url",
        columns={"user": "who"},
        ids=["user"],
        zone="America/New_York",
    )
    updates = csv(
        text(folder / "updates.csv", *UPDATE_LINES),
        ts="when",
        key="page",
        columns={"meta": "zip"},
        delimiter=";",
    )
    return TableSet(by_kind={"update": updates, "view": views})


def texts(dataset: Dataset, name: str) -> list[str]:
    (path,) = (file.path for file in dataset.dictionaries if file.name == name)
    return pq.read_table(path).column("text").to_pylist()


def test_each_kind_has_the_columns_zone_and_order_of_its_table(catalog: Catalog, tmp_path: Path):
    dataset = made(page_tables(tmp_path), VIEWS, catalog)
    views, updates = dataset.load().streams
    day = 1_704_067_200_000
    assert (views.ts - day).tolist() == [14 * 3_600_000, 14 * 3_600_000 + 120_000]
    assert (updates.ts - day).tolist() == [13 * 3_600_000 - 60_000, 13 * 3_600_000 + 60_000]
    assert set(views.payload) == {"user"} and set(updates.payload) == {"meta"}
    assert updates.payload["meta"].tolist() == [9000, 8000]
    keys = texts(dataset, "keys")
    assert [keys[tag // 2] for tag in views.tag] == ["home", "shop"]
    assert [keys[tag // 2] for tag in updates.tag] == ["home", "shop"]
    assert texts(dataset, "user") == ["ann", "bob"]


def test_the_record_has_each_table_and_the_totals(catalog: Catalog, tmp_path: Path):
    dataset = made(page_tables(tmp_path), VIEWS, catalog)
    origin = dataset.origin
    assert (origin["rows"], origin["rows_out_of_order"], origin["sorted_here"]) == (4, 1, True)
    first, second = table_words(dataset)
    assert first.startswith(
        "view: views.csv, 2 rows, 0 bad, 0 left out without a value, 0 out of order; times: "
    )
    assert second.startswith(
        "update: updates.csv, 2 rows, 0 bad, 0 left out without a value, 1 out of order; times: "
    )
    assert "America/New_York" in first and "America/New_York" not in second
    assert "`lab data build`" in rebuild_command(dataset)


def test_a_change_of_any_table_or_of_its_meaning_makes_another_dataset(
    catalog: Catalog, tmp_path: Path
):
    tables = page_tables(tmp_path)
    first, key = made(tables, VIEWS, catalog), content_key(tables)
    assert made(page_tables(tmp_path), VIEWS, catalog).id == first.id
    views = replace(tables.by_kind["view"], zone="UTC")
    assert content_key(TableSet(by_kind={**tables.by_kind, "view": views})) != key
    text(tmp_path / "updates.csv", *UPDATE_LINES, "2024-01-01 14:00;cart;7000")
    assert content_key(tables) != key
    assert made(tables, VIEWS, catalog).events == 5


def test_fields_of_one_name_share_a_dictionary_and_an_empty_table_is_an_empty_stream(
    catalog: Catalog, tmp_path: Path
):
    weighed = arrays({"t": [2, 1], "truck": ["b", "a"], "kg": [5, 6]}, ts="t", ids="truck")
    moved = arrays({"t": [3, 4], "truck": ["c", "a"], "place": [7, 8]}, ts="t", ids="truck")
    dataset = made(TableSet(by_kind={"weigh": weighed, "move": moved}), TRUCKS, catalog)
    weighs, moves = dataset.load().streams
    assert texts(dataset, "truck") == ["b", "a", "c"]
    assert (weighs.ts.tolist(), weighs.payload["truck"].tolist()) == ([1, 2], [1, 0])
    assert moves.payload["truck"].tolist() == [2, 1]

    nothing = csv(text(tmp_path / "none.csv", "t,truck,place"), ts="t", ids="truck")
    dataset = made(TableSet(by_kind={"weigh": weighed, "move": nothing}), TRUCKS, catalog)
    assert [len(stream) for stream in dataset.load().streams] == [2, 0]
    empty = TableSet(by_kind={"weigh": nothing, "move": nothing})
    with pytest.raises(DatasetError, match="no column kg"):
        made(empty, TRUCKS, catalog)


def test_each_table_counts_its_own_bad_rows(catalog: Catalog):
    weighed = arrays({"t": [1, 2], "truck": [1, 2], "kg": ["5", "x"]}, ts="t", max_bad=1)
    moved = arrays({"t": [1, 2], "truck": [1, 2], "place": ["5", "x"]}, ts="t")
    with pytest.raises(DatasetError, match=r"row 2, column place: 'x' is not a valid int32.*=1\)"):
        made(TableSet(by_kind={"weigh": weighed, "move": moved}), TRUCKS, catalog)
    moved = replace(moved, max_bad=1)
    dataset = made(TableSet(by_kind={"weigh": weighed, "move": moved}), TRUCKS, catalog)
    assert dataset.origin["bad_rows"] == 2
    assert [facts["bad_rows"] for facts in dataset.origin["tables"].values()] == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"update": None}, "kind update has no table"),
        ({"other": arrays({"t": [1]}, ts="t")}, "input 'other' is not one of its kinds"),
        ({"view": arrays({"t": [1], "k": [1]}, ts="t", key="k")}, "no.* column for field user"),
    ],
)
def test_a_wrong_set_of_tables_is_refused(catalog, tmp_path, change, message):
    by_kind = {**page_tables(tmp_path).by_kind, **change}
    with pytest.raises(DatasetError, match=message):
        made(TableSet(by_kind={k: v for k, v in by_kind.items() if v}), VIEWS, catalog)


def test_tables_that_contradict_each_other_are_refused(catalog: Catalog):
    first = arrays({"t": [1], "truck": ["a"], "kg": [1]}, ts="t", ids="truck")
    second = arrays({"t": [1], "truck": [1], "place": [1]}, ts="t")
    with pytest.raises(DatasetError, match="field truck is a text in another table"):
        made(TableSet(by_kind={"weigh": first, "move": second}), TRUCKS, catalog)
    with pytest.raises(DatasetError, match="units of time ms, s"):
        TableSet(by_kind={"weigh": first, "move": replace(second, unit="s")})
    with pytest.raises(DatasetError, match="leave kind out"):
        TableSet(by_kind={"weigh": replace(first, kind="weigh")})
    with pytest.raises(DatasetError, match="is a str; give a table"):
        TableSet(by_kind={"weigh": "weighed.csv"})  # type: ignore[dict-item]


def test_a_join_of_two_tables_gives_the_answer_of_its_oracle(catalog: Catalog):
    chance = np.random.default_rng(5)
    target = workload("scale_join")
    tables = {}
    for kind in PAIRS.kinds:
        times = np.sort(chance.integers(0, 3000, 200))
        names = PAIRS.event.names or ()
        tables[kind] = arrays(
            {"at": times, **{name: chance.integers(0, 40, 200) for name in names}}, ts="at"
        )
    data = made(TableSet(by_kind=tables), PAIRS, catalog).load()
    assert [stream.name for stream in data.streams] == list(PAIRS.kinds)
    assert len(target.oracle(data)["ts"]) > 0
