"""JSON lines, access logs, times in two columns, decimal commas and scaled decimals."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from streamlab.lab.cli.data import data as data_command
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import (
    Table,
    access_log,
    arrays,
    content_key,
    csv,
    frame,
    jsonl,
)
from streamlab.workloads.datasets.tables.cells import parse_scaled_numbers
from streamlab.workloads.datasets.text import decoding
from tests.workloads.datasets.tables.programs import SUMS, columns, made, pipeline, text

MIDNIGHT = 1_714_521_600_000
"""2024-05-01 in UTC, in ms."""


LINES = (
    '{"at": "2024-05-01T00:00:01", "n": 1, "who": {"name": "ann"}, "f": 1.5}',
    "",
    '{"n": 2, "at": "2024-05-01T00:00:02.5", "who": {"name": "bob"}, "f": 2, "more": [1]}',
)


class TestJsonLines:
    FIELDS = {"n": np.int32, "f": np.float64, "name": np.int32}  # noqa: RUF012

    def table(self, path: Path, **meaning: Any) -> Table:
        return jsonl(path, ts="at", columns={"name": "who.name"}, ids="name", **meaning)

    def test_keys_are_columns_also_of_objects_within(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.jsonl", *LINES)
        right = {
            "ts": [MIDNIGHT + 1000, MIDNIGHT + 2500],
            "n": [1, 2],
            "f": [1.5, 2.0],
            "name": [0, 1],
        }
        assert columns(self.table(file), catalog, **self.FIELDS) == right
        packed = tmp_path / "a.jsonl.gz"
        packed.write_bytes(gzip.compress(file.read_bytes()))
        assert columns(self.table(packed), catalog, **self.FIELDS) == right
        dataset = made(self.table(file), pipeline(**self.FIELDS), catalog)
        assert (dataset.origin["rows"], dataset.origin["empty_lines"]) == (2, 1)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ('{"n": 3', "it is not a JSON object"),
            ("[3]", "it is not a JSON object .it is a list"),
            ('{"n": 3, "at": 4} {"n": 4}', "it is not a JSON object"),
            (
                '{"n": "x", "at": "2024-05-01T00:00:03", "f": 1, "who": {"name": "c"}}',
                "'x' is not a",
            ),
            (
                '{"n": 3.5, "at": "2024-05-01T00:00:03", "f": 1, "who": {"name": "c"}}',
                "3.5 is not a valid int32",
            ),
            ('{"n": 3, "at": "2024-05-01T00:00:03", "f": NaN}', "nan is not finite"),
            ('{"n": 3, "f": 1, "who": {"name": "c"}}', "column at: is empty"),
        ],
    )
    def test_a_bad_line_is_named_and_may_be_left_out(
        self, catalog: Catalog, tmp_path: Path, line: str, why: str
    ):
        file = text(tmp_path / "a.jsonl", *LINES, line, LINES[0])
        with pytest.raises(DatasetError, match=rf"a\.jsonl: row 3 \(line 4\).*{why}"):
            made(self.table(file), pipeline(**self.FIELDS), catalog)
        answer = columns(self.table(file, max_bad=1), catalog, **self.FIELDS)
        assert answer["n"] == [1, 1, 2] and answer["name"] == [0, 0, 1]

    def test_blocks_of_different_types_and_keys_give_the_same_rows(
        self, catalog: Catalog, tmp_path: Path
    ):
        chance = np.random.default_rng(2)
        objects = [
            {"t": n, "v": int(chance.integers(99)), "s": str(n % 7), **({"x": n} if n > 50 else {})}
            for n in range(300)
        ]
        objects[200]["v"] = str(objects[200]["v"])
        objects[201]["t"] = float(objects[201]["t"])
        file = text(tmp_path / "a.jsonl", *(json.dumps(each) for each in objects))
        table = jsonl(file, ts="t", ids="s")
        with (
            patch.object(decoding, "BLOCK_BYTES", 1000),
            patch.object(decoding, "_PIECE_BYTES", 1000),
        ):
            answer = columns(table, catalog, v=np.int64, s=np.int32)
        assert answer["ts"] == [int(each["t"]) for each in objects]
        assert answer["v"] == [int(each["v"]) for each in objects]
        assert answer["s"] == [n % 7 for n in range(300)]

    def test_a_file_without_objects_is_refused(self, catalog: Catalog, tmp_path: Path):
        for lines, why in (((), "is empty"), (("3",), "line 1: it is not a JSON object")):
            file = text(tmp_path / "a.jsonl", *lines)
            with pytest.raises(DatasetError, match=why):
                made(jsonl(file, ts="t"), pipeline(v=np.int64), catalog)


COMBINED = (
    '1.2.3.4 - ann [01/May/2024:02:00:01 +0200] "GET /a?b=1 HTTP/1.1" 200 512 "-" "Mozilla \\"x\\""',
    '::1 - - [01/May/2024:00:00:02 +0000] "POST /b HTTP/2" 404 - "http://h/" "curl" extra',
    '1.2.3.4 - ann [01/May/2024:00:00:03 +0000] "\\x16\\x03" 400 0',
)


class TestAccessLogs:
    def test_the_combined_and_the_common_format_are_columns(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "access.log", *COMBINED)
        table = access_log(
            file,
            ids=("host", "user", "url", "agent"),
            fill={"bytes": 0, "user": "nobody", "url": "none", "agent": "none"},
        )
        fields = dict.fromkeys(("host", "user", "url", "agent", "status", "bytes"), np.int32)
        assert columns(table, catalog, **fields) == {
            "ts": [MIDNIGHT + 1000, MIDNIGHT + 2000, MIDNIGHT + 3000],
            "host": [0, 1, 0],
            "user": [0, 1, 0],
            "url": [0, 1, 2],
            "agent": [0, 1, 2],
            "status": [200, 404, 400],
            "bytes": [512, 0, 0],
        }

    def test_a_line_of_another_format_is_bad(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "access.log", COMBINED[0], "hello", COMBINED[1])
        with pytest.raises(
            DatasetError, match=r"row 2: it is not in the common or combined .*hello"
        ):
            made(access_log(file), pipeline(status=np.int32), catalog)
        table = access_log(file, max_bad=1)
        assert columns(table, catalog, status=np.int32)["status"] == [200, 404]


class TestTwoColumnsOfTimes:
    LINES = ("day,clock,value", "2024-05-01,00:00:02,5", "2024-05-01, 00:00:01,6")

    def test_they_are_joined(self, catalog: Catalog, tmp_path: Path):
        table = csv(text(tmp_path / "a.csv", *self.LINES), ts=["day", "clock"])
        right = {"ts": [MIDNIGHT + 1000, MIDNIGHT + 2000], "value": [6, 5]}
        assert columns(table, catalog, value=np.int32) == right
        typed = pa.table(
            {
                "day": pa.array([19844, 19844], pa.int32()).cast(pa.date32()),
                "clock": pa.array([2, 1], pa.time32("s")),
                "value": [5, 6],
            }
        )
        assert columns(frame(typed, ts=("day", "clock")), catalog, value=np.int32) == right

    def test_they_have_a_form_and_may_be_empty(self, catalog: Catalog, tmp_path: Path):
        lines = ("day;clock;value", "01.05.2024;0:00;5", "01.05.2024;;6", "01.05.2024;0:01;7")
        file = text(tmp_path / "a.csv", *lines)
        table = csv(file, ts=["day", "clock"], delimiter=";", time_format="%d.%m.%Y %H:%M")
        with pytest.raises(DatasetError, match=r"row 3, column day: is empty"):
            made(table, pipeline(value=np.int32), catalog)

    def test_the_command_joins_them_with_a_plus(self, tmp_path: Path, monkeypatch):
        monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
        file = text(tmp_path / "a.csv", *self.LINES)
        command = ["import", "table", "--workload", "event_window", "--file", str(file)]
        command += ["--columns", "ts=day+clock,kind==value"]
        result = CliRunner().invoke(data_command, command)
        assert result.exit_code == 0, result.output
        assert "2024-05-01 00:00:01 to 2024-05-01 00:00:02 UTC" in result.output


class TestNumbers:
    def test_a_comma_may_be_before_the_fraction(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.csv", "t;f;n", "1;1,5;2", "2;-0,25;3", "3;4;5,0")
        table = csv(file, ts="t", delimiter=";", decimal=",")
        right = {"ts": [1, 2, 3], "f": [1.5, -0.25, 4.0], "n": [2, 3, 5]}
        assert columns(table, catalog, f=np.float64, n=np.int32) == right
        text(tmp_path / "a.csv", "t;f;n", "1;1.234,5;2")
        with pytest.raises(
            DatasetError, match=r"row 2, column f: '1.234,5' has a point, but the decimal separator"
        ):
            made(table, pipeline(f=np.float64, n=np.int32), catalog)

    def test_decimals_times_a_power_of_ten_are_whole_numbers(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = text(tmp_path / "a.csv", "t,price", "1,1.10", "2,-0.29", "3,7", "4,1e1", "5,.5")
        table = csv(file, ts="t", scale={"price": 100})
        assert columns(table, catalog, price=np.int64)["price"] == [110, -29, 700, 1000, 50]
        comma = csv(
            text(tmp_path / "b.csv", "t;price", "1;2,05"),
            ts="t",
            delimiter=";",
            decimal=",",
            scale={"price": 1000},
        )
        assert columns(comma, catalog, price=np.int32)["price"] == [2050]
        floats = arrays({"t": [1, 2], "price": [0.29, 1.1]}, ts="t", scale={"price": 100})
        assert columns(floats, catalog, price=np.int32)["price"] == [29, 110]

    @pytest.mark.parametrize(
        ("cell", "why"),
        [
            ("1.005", "'1.005' times 100 is not a whole number"),
            ("x", "'x' is not a number"),
            ("99999999999", "'99999999999' times 100 is beyond the range of int32"),
        ],
    )
    def test_more_digits_are_an_error(self, catalog: Catalog, tmp_path: Path, cell: str, why: str):
        file = text(tmp_path / "a.csv", "t,price", "1,1.10", f"2,{cell}")
        with pytest.raises(DatasetError, match=f"row 3, column price: {why}"):
            made(csv(file, ts="t", scale={"price": 100}), pipeline(price=np.int32), catalog)

    @given(st.lists(st.decimals(-(10**9), 10**9, places=3) | st.none(), max_size=20))
    def test_scaling_is_exact(self, values: list[Decimal | None]):
        texts = pa.array([None if v is None else str(v) for v in values], pa.string())
        read = parse_scaled_numbers(texts, 1000, np.dtype(np.int64), "x")
        assert not read.bad
        assert read.values.tolist() == [0 if v is None else int(v * 1000) for v in values]
        assert read.empty.tolist() == [v is None for v in values]

    @given(st.lists(st.integers(-(10**12), 10**12) | st.none(), min_size=1, max_size=20))
    def test_floats_scale_like_the_decimals_that_they_print(self, cents: list[int | None]):
        floats = pa.array([None if c is None else c / 100 for c in cents], pa.float64())
        read = parse_scaled_numbers(floats, 100, np.dtype(np.int64), "x")
        assert not read.bad and read.values.tolist() == [c or 0 for c in cents]
        finer = parse_scaled_numbers(pa.array([0.29, 0.295]), 100, np.dtype(np.int64), "x")
        assert finer.values.tolist() == [29, 0]
        assert finer.bad == {1: "0.295 times 100 is not a whole number"}

    def test_they_are_declared_for_fields_of_whole_numbers(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.csv", "t,value", "1,2")
        with pytest.raises(DatasetError, match="scale has 3 for value; give a power of ten"):
            csv(file, ts="t", scale={"value": 3})
        with pytest.raises(DatasetError, match="scale has value; give a field of whole numbers"):
            made(csv(file, ts="t", scale={"value": 10}), pipeline(value=np.float64), catalog)
        with pytest.raises(DatasetError, match=r"decimal is ';'; give '\.' or ','"):
            csv(file, ts="t", decimal=";")
        keys = [{}, {"scale": {"value": 10}}, {"scale": {"value": 100}}, {"decimal": ","}]
        assert len({content_key(csv(file, ts="t", **each)) for each in keys}) == 4  # type: ignore[arg-type]

    def test_the_command_scales(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
        file = text(tmp_path / "a.csv", "t;value", "1;2,5")
        command = ["import", "table", "--workload", "event_window", "--file", str(file)]
        command += ["--columns", "ts=t,kind==value", "--delimiter", ";", "--decimal", ","]
        result = CliRunner().invoke(data_command, [*command, "--scale", "value=10"])
        assert result.exit_code == 0, result.output
        (dataset,) = Catalog.default().list().datasets
        assert dataset.load().streams[0].payload["value"].tolist() == [25]


def test_the_command_recognizes_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    file = text(tmp_path / "a", '{"t": 1, "value": 2}')
    command = ["import", "table", "--workload", "event_window", "--file", str(file)]
    result = CliRunner().invoke(data_command, [*command, "--columns", "ts=t,kind==value"])
    assert result.exit_code == 0, result.output
    with pytest.raises(DatasetError, match=r"this is JSON lines, not CSV; .*lab\.jsonl"):
        made(csv(file, ts="t", kind="=value"), SUMS, Catalog.default())
