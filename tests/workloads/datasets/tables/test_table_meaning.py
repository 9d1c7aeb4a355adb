from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, arrays, arrow, content_key, csv
from streamlab.workloads.model import ListColumn
from streamlab.workloads.registry import workload
from tests.workloads.datasets.tables.programs import (
    COUNTER,
    PAIRS,
    REPORTS,
    SUMS,
    TRUCKS,
    VIEWS,
    WORDS,
    made,
    text,
)


def entries(dataset: Dataset, name: str) -> list[str]:
    (path,) = (file.path for file in dataset.dictionaries if file.name == name)
    return pq.read_table(path).column("text").to_pylist()


class TestKeysAndKinds:
    def test_each_kind_has_a_stream_and_texts_are_numbered_by_first_appearance(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = text(
            tmp_path / "a.csv",
            "time,who,what",
            "10,bob,increment",
            "20,ann,increment",
            "20,ann,read_reset",
            "20,bob,increment",
            "30,bob,read_reset",
        )
        table = csv(file, ts="time", key="who", kind="what")
        dataset = made(table, COUNTER, catalog)
        increments, resets = dataset.load().streams
        assert entries(dataset, "keys") == ["bob", "ann"]
        assert (increments.name, increments.ts.tolist()) == ("increment-0", [10, 20, 20])
        assert increments.tag is not None
        assert increments.tag.tolist() == [0, 2, 0]
        assert (resets.name, resets.ts.tolist()) == ("read_reset", [20, 30])
        answer = workload("keyed_counter").oracle(dataset.load())
        assert list(zip(answer["key"].tolist(), answer["count"].tolist(), strict=True)) == [
            (1, 1),
            (0, 2),
        ]

    def test_whole_numbers_that_lie_close_together_stay_unchanged(self, catalog: Catalog):
        table = arrays({"t": [1, 2, 3], "k": [7, 900, 7]}, ts="t", key="k", kind="increment")
        dataset = made(table, COUNTER, catalog)
        assert dataset.alphabet.keys == 901
        assert not dataset.dictionaries
        tag = dataset.load().streams[0].tag
        assert tag is not None
        assert (tag // 2).tolist() == [7, 900, 7]

    @pytest.mark.parametrize("keys", [[5, 2**40], [-1, 5], ["007", "5"], [3_000_000, 5]])
    def test_keys_that_are_no_close_numbers_are_numbered(
        self, catalog: Catalog, keys: list[object]
    ):
        table = arrays({"t": [1, 2], "k": keys}, ts="t", key="k", kind="increment")
        dataset = made(table, COUNTER, catalog)
        assert dataset.alphabet.keys == 2
        assert entries(dataset, "keys") == [str(key) for key in keys]

    def test_whole_numbers_that_pandas_made_floats_are_keys(self, catalog: Catalog):
        columns = {"t": [1, 2, 3], "k": [7.0, float("nan"), 5.0]}
        with pytest.raises(DatasetError, match=r"row 2, column k: is empty; .*--max-bad 1"):
            made(arrays(columns, ts="t", key="k", kind="increment"), COUNTER, catalog)
        table = arrays(columns, ts="t", key="k", kind="increment", max_bad=1)
        assert made(table, COUNTER, catalog).alphabet.keys == 8
        columns["k"][1] = 0.5
        with pytest.raises(DatasetError, match=r"column k is of type double; give a column of"):
            made(arrays(columns, ts="t", key="k", kind="increment"), COUNTER, catalog)

    def test_an_unknown_kind_is_reported_with_the_known_ones(self, catalog: Catalog):
        table = arrays({"t": [1, 2], "k": [0, 0], "w": ["increment", "reset"]}, ts="t", key="k")
        with pytest.raises(DatasetError, match=r"kinds increment, read_reset; give the column"):
            made(table, COUNTER, catalog)
        table = arrays(
            {"t": [1, 2], "k": [0, 0], "w": ["increment", "reset"]}, ts="t", key="k", kind="w"
        )
        match = r"row 2, column w: 'reset' is not one of the kinds increment, read_reset"
        with pytest.raises(DatasetError, match=match):
            made(table, COUNTER, catalog)

    def test_a_kind_carries_the_fields_that_all_its_rows_have(
        self, catalog: Catalog, tmp_path: Path
    ):
        lines = ["t,page,what,user,meta", "1,/a,view,7,", "2,/a,update,,99", "3,/a,view,8,"]
        table = csv(text(tmp_path / "a.csv", *lines), ts="t", key="page", kind="what")
        views, updates = made(table, VIEWS, catalog).load().streams
        assert {name: list(values) for name, values in views.payload.items()} == {"user": [7, 8]}
        assert {name: list(values) for name, values in updates.payload.items()} == {"meta": [99]}
        table = csv(
            text(tmp_path / "b.csv", *lines, "4,/a,view,,"), ts="t", key="page", kind="what"
        )
        match = r"b.csv: row 5, column user is empty, as in 1 of 3 rows of kind view.*--max-bad 1"
        with pytest.raises(DatasetError, match=match):
            made(table, VIEWS, catalog)
        dataset = made(replace(table, max_bad=1), VIEWS, catalog)
        assert dataset.origin["bad_lines"] == [f"{tmp_path}/b.csv: row 5, column user: is empty"]
        views, updates = dataset.load().streams
        assert views.payload["user"].tolist() == [7, 8]
        assert (len(updates), "meta" in views.payload) == (1, False)

    @pytest.mark.parametrize(
        ("message", "match"),
        [
            ({"kind": "increment"}, "program is keyed; name the column of keys"),
            ({"kind": "increment", "key": "nobody"}, "no column nobody for key"),
            ({"kind": "nothing", "key": "k"}, "neither a column .* nor one of the kinds"),
            (
                {"kind": "increment", "key": "k", "columns": {"x": "k"}},
                "not a field of the program",
            ),
            ({"kind": "increment", "key": "k", "ids": "x"}, "not a field of the program"),
        ],
    )
    def test_tables_that_do_not_fit_the_program_are_refused(
        self, catalog: Catalog, message: dict[str, object], match: str
    ):
        table = arrays({"t": [1], "k": [0]}, ts="t", **message)  # type: ignore[arg-type]
        with pytest.raises(DatasetError, match=match):
            made(table, COUNTER, catalog)
        assert not catalog.root.exists() or list(catalog.root.iterdir()) == []

    def test_a_program_without_keys_takes_none(self, catalog: Catalog):
        with pytest.raises(DatasetError, match="the program has no keys"):
            made(arrays({"t": [1], "value": [0]}, ts="t", key="value"), SUMS, catalog)


class TestFields:
    def test_a_pipeline_gets_its_fields_by_name_and_by_declaration(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = text(
            tmp_path / "a.csv", "when,car,speed,share,slow", "5, 12 ,-3,0.1,true", "6,7.0,4,2e3,0"
        )
        dataset = made(csv(file, ts="when", columns={"vid": "car"}), REPORTS, catalog)
        (stream,) = dataset.load().streams
        assert stream.tag is None
        assert {name: list(values) for name, values in stream.payload.items()} == {
            "vid": [12, 7],
            "speed": [-3, 4],
            "share": [np.float32(0.1), 2000.0],
            "slow": [True, False],
        }

    def test_a_field_without_a_column_is_left_out_only_on_request(self, catalog: Catalog):
        columns = {"t": [1], "vid": [1], "speed": [1], "slow": [True]}
        with pytest.raises(DatasetError, match=r"no column share for field share; name its"):
            made(arrays(columns, ts="t"), REPORTS, catalog)
        dataset = made(arrays(columns, ts="t", columns={"share": "-"}), REPORTS, catalog)
        # Engines need not know which columns there are: 0 is written.
        assert np.asarray(dataset.load().streams[0].payload["share"]).tolist() == [0.0]

    def test_lists_without_a_column_are_empty(self, catalog: Catalog):
        columns = {"t": [1, 2], "user": [3, 4], "words": ["a b", "c"]}
        table = arrays(columns, ts="t", columns={"chars": "-", "hashtags": "-"})
        payload = made(table, WORDS, catalog).load().streams[0].payload
        hashtags = payload["hashtags"]
        assert isinstance(hashtags, ListColumn)
        assert list(hashtags.rows()) == [[], []]
        assert np.asarray(payload["chars"]).tolist() == [0, 0]

    def test_texts_of_a_field_are_numbered_on_request(self, catalog: Catalog):
        columns = {
            "t": [1, 2, 3],
            "vid": ["car", "bus", "car"],
            "speed": [1, 2, 3],
            "share": [0.5, 0.25, 1.0],
            "slow": [True, False, True],
        }
        with pytest.raises(DatasetError, match=r"column vid: 'car' is not a valid int32"):
            made(arrays(columns, ts="t"), REPORTS, catalog)
        dataset = made(arrays(columns, ts="t", ids=["vid"]), REPORTS, catalog)
        assert np.asarray(dataset.load().streams[0].payload["vid"]).tolist() == [0, 1, 0]
        assert entries(dataset, "vid") == ["car", "bus"]

    @pytest.mark.parametrize(
        ("field", "value", "shown"),
        [
            ("speed", 40_000, "40000 is not a valid int16"),
            ("speed", 1.5, "1.5 is not a valid int16"),
            ("speed", "1.5", "'1.5' is not a valid int16"),
            ("speed", "0x10", "'0x10' is not a valid int16"),
            ("speed", "1,000", "'1,000' is not a valid int16"),
            ("speed", "9223372036854775808", "is not a valid int16"),
            ("speed", float("nan"), "nan is not a valid int16"),
            ("speed", None, "is empty"),
            ("speed", "", "is empty"),
            ("share", 0.1, "0.1 is not exactly a float32"),
            ("share", 1e300, r"1e\+300 is beyond the range of float32"),
            ("share", "NaN", "'NaN' is not finite, and answers with it cannot be"),
            ("share", float("inf"), "inf is not finite, and answers"),
            ("share", "much", "'much' is not a number"),
            ("share", "1_000", "'1_000' is not a number"),
            ("share", "-inf", "'-inf' is not finite, and answers"),
            ("share", "1e999", "'1e999' is beyond the range of float32"),
            ("share", 2**24 + 1, "16777217 is not exactly a float32"),
            ("slow", 2, "2 is not a valid bool"),
            ("slow", "yes", "'yes' is not a valid bool"),
        ],
    )
    def test_a_value_that_a_field_cannot_hold_exactly_is_refused_with_its_place(
        self, catalog: Catalog, field: str, value: object, shown: str
    ):
        good = {"t": 1, "vid": 1, "speed": 1, "share": 1.0, "slow": True}
        columns = {name: [cell, cell] for name, cell in good.items()}
        columns[field] = [good[field] if value is None else type(value)(good[field]), value]
        with pytest.raises(DatasetError, match=f"arrays: row 2, column {field}: .*{shown}"):
            made(arrays(columns, ts="t"), REPORTS, catalog)

    def test_lists_come_from_lists_and_from_the_words_of_texts(self, catalog: Catalog):
        columns = {
            "t": [1, 2],
            "user": [3, 4],
            "chars": [5, 6],
            "words": ["Red, red; blue", ""],
            "hashtags": [[], ["x", "y", "x"]],
        }
        dataset = made(arrays(columns, ts="t"), WORDS, catalog)
        payload = dataset.load().streams[0].payload
        words, hashtags = payload["words"], payload["hashtags"]
        assert isinstance(words, ListColumn)
        assert isinstance(hashtags, ListColumn)
        assert list(words.rows()) == [[0, 0, 1], []]
        assert list(hashtags.rows()) == [[], [0, 1, 0]]
        assert entries(dataset, "words") == ["red", "blue"]
        assert entries(dataset, "hashtags") == ["x", "y"]

    def test_elements_of_lists_are_converted_exactly(self, catalog: Catalog):
        columns = {
            "t": [1, 2],
            "user": [3, 4],
            "chars": [5, 6],
            "words": [[1, 2], [3, 2**40]],
            "hashtags": [[], []],
        }
        match = r"row 2, column words: element 2: 1099511627776 is not a valid int32"
        with pytest.raises(DatasetError, match=match):
            made(arrays(columns, ts="t"), WORDS, catalog)

    def test_nothing_within_a_list_of_texts_is_no_text(self, catalog: Catalog):
        columns = {
            "t": [1, 2, 3, 4],
            "user": [3, 4, 5, 6],
            "chars": [5, 6, 7, 8],
            "words": [["red"], ["blue", None], ["gold"], [None, "green"]],
        }
        table = arrow(pa.table(columns).slice(1), ts="t", columns={"hashtags": "-"})
        match = r"row 1, column words: element 2: is empty"
        with pytest.raises(DatasetError, match=match):
            made(table, WORDS, catalog)
        dataset = made(replace(table, max_bad=2), WORDS, catalog)
        words = dataset.load().streams[0].payload["words"]
        assert isinstance(words, ListColumn)
        assert list(words.rows()) == [[0]]
        assert entries(dataset, "words") == ["gold"]


class TestStreams:
    def test_each_input_of_a_query_has_its_own_fields(self, catalog: Catalog, tmp_path: Path):
        lines = ["t,side,x,y,a,b,c,d", "1,left,1,2,,,,", "2,right,,,1,2,3.5,1"]
        kinds = {"left": PAIRS.kinds[0], "right": PAIRS.kinds[1]}
        lines = [line.replace("left", kinds["left"]) for line in lines]
        lines = [line.replace("right", kinds["right"]) for line in lines]
        file = text(tmp_path / "a.csv", *lines)
        left, right = made(csv(file, ts="t", kind="side"), PAIRS, catalog).load().streams
        assert set(left.payload) == {"x", "y"}
        assert set(right.payload) == {"a", "b", "c", "d"}
        file = text(tmp_path / "b.csv", *lines, f"3,{kinds['left']},1,,,,,")
        with pytest.raises(DatasetError, match=r"b.csv: row 4, column y: is empty"):
            made(csv(file, ts="t", kind="side"), PAIRS, catalog)

    def test_each_source_of_a_dataflow_graph_has_its_own_fields(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = text(
            tmp_path / "a.csv",
            "t,what,truck,kg,place",
            "1,weigh,7,900,",
            "2,move,7,,3",
            "3,weigh,8,,",
        )
        table = csv(file, ts="t", kind="what", max_bad=1)
        dataset = made(table, TRUCKS, catalog)
        weighings, moves = dataset.load().streams
        assert {name: weighings.payload[name].tolist() for name in weighings.payload} == {
            "truck": [7],
            "kg": [900],
        }
        assert {name: moves.payload[name].tolist() for name in moves.payload} == {
            "truck": [7],
            "place": [3],
        }
        with pytest.raises(DatasetError, match=r"row 4, column kg: is empty"):
            made(replace(table, max_bad=0), TRUCKS, catalog)


class TestContent:
    def test_the_identity_of_a_table_is_its_content_and_not_its_path(
        self, catalog: Catalog, tmp_path: Path
    ):
        def table(name: str, *lines: str) -> Table:
            return csv(text(tmp_path / name, "t,value", *lines), ts="t", kind="=value")

        first, moved = table("a.csv", "1,2"), table("b.csv", "1,2")
        assert content_key(first) == content_key(moved)
        made_first = made(first, SUMS, catalog)
        assert made(moved, SUMS, catalog).id == made_first.id
        edited = table("b.csv", "1,3")
        assert content_key(edited) != content_key(first)
        assert made(edited, SUMS, catalog).id != made_first.id

    def test_the_meaning_of_columns_is_part_of_the_identity(self, tmp_path: Path):
        file = text(tmp_path / "a.csv", "t,value,other", "1,2,3")
        said = [
            {},
            {"columns": {"value": "other"}},
            {"unit": "us"},
            {"zone": "Europe/Berlin"},
            {"streams": 2},
            {"time_format": "s"},
            {"delimiter": ";"},
        ]
        keys = {content_key(csv(file, ts="t", kind="=value", **each)) for each in said}  # type: ignore[arg-type]
        assert len(keys) == len(said)

    def test_relative_paths_can_be_taken_from_a_folder(self, tmp_path: Path):
        folder = tmp_path / "odd[1]"
        folder.mkdir()
        text(folder / "a.csv", "t,value", "1,2")
        for path in ("a.csv", "*.csv"):
            table = csv(path, ts="t").relative_to(folder)
            assert table.source.files() == (folder / "a.csv",)
