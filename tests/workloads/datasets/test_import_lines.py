"""Quotes, lines, encodings and forms, which all imports report alike."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from streamlab.lab.cli.data import data
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError


def imported(root: Path, kind: str, file: Path, *options: str) -> Result:
    command = ["import", kind, "--file", str(file), *options, "--root", str(root)]
    return CliRunner().invoke(data, command, catch_exceptions=False)


def table(root: Path, file: Path, columns: str, *options: str, of: str = "event_window") -> Result:
    return imported(root, "table", file, "--workload", of, "--columns", columns, *options)


def facts(root: Path, result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    return dict(Catalog(root=root).get(result.stdout.strip()).origin)


def bytes_file(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class TestQuotes:
    STRAY = 't,note,v\n1,"5 in,10\n2,6,20\n3,7 in",30\n4,x,40\n'

    @pytest.mark.parametrize("columns", ["ts=t,value=v", "ts=t,value=t"])
    def test_lines_within_a_good_row_are_reported_whatever_columns_are_read(
        self, tmp_path: Path, columns: str
    ):
        file = bytes_file(tmp_path / "a.csv", self.STRAY)
        result = table(tmp_path / "data", file, f"{columns},kind==value")
        assert "2 rows, 0 bad" in result.stderr
        assert "quoted rows over several lines: 1, with 2 further lines" in result.stderr
        assert "a.csv: row 2 (lines 2 to 4)" in result.stderr
        assert "--no-quotes" in result.stderr
        found = facts(tmp_path / "data", result)
        assert (found["rows_of_several_lines"], found["lines_in_rows"]) == (1, 2)

    def test_lines_within_a_bad_row_are_reported(self, tmp_path: Path):
        lines = '1 a "x y"\n2 b "y z\n3 c "z w"\n4 d "w v"\n'
        file = bytes_file(tmp_path / "a.txt", lines)
        columns = "ts=1,key=2,kind=view,user=-,meta=-"
        options = ("--delimiter", " ", "--max-bad", "3")
        result = table(tmp_path / "data", file, columns, *options, of="page_view_join")
        assert "2 rows, 1 bad" in result.stderr
        assert (
            "a.txt: row 2 (lines 2 to 3): the quote opened in line 2 is closed in line 3 before"
            in result.stderr
        )
        assert "lines inside bad rows, not read as rows: 1; " in result.stderr
        assert "--no-quotes" in result.stderr
        with pytest.raises(DatasetError, match=r"lines within bad rows: 1; .*--no-quotes"):
            table(tmp_path / "data", file, columns, *options[:2], of="page_view_join")

    def test_a_quote_that_is_never_closed_is_refused_with_its_line(self, tmp_path: Path):
        file = bytes_file(tmp_path / "a.csv", 't,note,v\n1,a,10\n2,"b,20\n3,c,30\n4,d,40\n')
        with pytest.raises(DatasetError, match=r"opened in line 3 is never closed.*--no-quotes"):
            table(tmp_path / "data", file, "ts=t,value=v,kind==value", "--max-bad", "5")
        for options in ((), ("--max-bad", "5")):
            with pytest.raises(DatasetError, match="opened in line 3 is never closed"):
                imported(tmp_path / "data", "tweets", file, "--columns", "ts=t,text=v", *options)
        result = table(tmp_path / "data", file, "ts=t,value=v,kind==value", "--no-quotes")
        assert "4 rows, 0 bad" in result.stderr

    def test_no_line_within_a_quoted_cell_is_an_event(self, tmp_path: Path):
        long = "x" * 150_000
        file = bytes_file(tmp_path / "a.csv", f'at,text,user\n1,"{long}\n9,evil,injected row",a\n')
        with file.open("a") as more:
            more.write("2,good,b\n")
        columns = ("--columns", "ts=at,text=text,user=user", "--time", "s", "--max-bad", "3")
        result = imported(tmp_path / "data", "tweets", file, *columns)
        assert "4 lines, 1 rows, 1 bad" in result.stderr
        assert "a.csv:2-3: a text of 150,020 characters" in result.stderr
        assert "lines inside bad rows, not read as rows: 1; " in result.stderr
        broken = bytes_file(tmp_path / "b.csv", 'at,text,user\n1,"a\n9,evil,b" c,d\n2,good,b\n')
        result = imported(tmp_path / "data", "tweets", broken, *columns)
        assert "4 lines, 1 rows, 1 bad" in result.stderr
        assert "b.csv:2-3: the quote opened in line 2 is closed in line 3 before ' c,d'" in (
            result.stderr
        )

    def test_kinds_report_rows_of_several_lines_and_take_quotes_as_characters(self, tmp_path: Path):
        file = bytes_file(tmp_path / "a.csv", 't,p,s,note\n1,2,a,"x\n2,2,a,y\n3,2,a,z"\n')
        options = ("--columns", "ts=t,price=p,symbol=s")
        result = imported(tmp_path / "data", "trades", file, *options)
        assert "4 lines, 1 rows, 0 bad" in result.stderr
        assert "several lines: " in result.stderr
        assert "a.csv:2-4" in result.stderr
        result = imported(tmp_path / "data", "trades", file, *options, "--no-quotes")
        assert "4 lines, 3 rows, 0 bad" in result.stderr


def _csv_tweets(root: Path, file: Path) -> Result:
    columns = ("--columns", "ts=at,text=text,user=user", "--time", "s")
    return imported(root, "tweets", file, *columns)


def _line_tweets(root: Path, file: Path) -> Result:
    return imported(root, "tweets", file)


def _table_tweets(root: Path, file: Path) -> Result:
    columns = "ts=at,words=text,user=user,chars=-,hashtags=-"
    return table(root, file, columns, "--ids", "user,words", of="wordcount")


CSV = "at,text,user\n1,two words,ann\n2,naïve,bob\n"
BARS = "1|2015-04-09T01:31:05Z|two words\n2|2015-04-09T01:31:06Z|naïve\n"


class TestForms:
    @pytest.mark.parametrize(
        ("read", "text"), [(_csv_tweets, CSV), (_line_tweets, BARS), (_table_tweets, CSV)]
    )
    def test_encodings_and_line_ends_change_nothing(
        self, tmp_path: Path, read: Callable[[Path, Path], Result], text: str
    ):
        ids = set()
        for number, content in enumerate(
            [
                text.encode(),
                text.encode("utf-8-sig"),
                text.encode("utf-16"),
                text.replace("\n", "\r\n").encode(),
                text.replace("\n", "\r").encode(),
                text.replace("\n", "\r").encode("utf-16"),
                text.removesuffix("\n").encode(),
            ]
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            result = read(folder / "data", bytes_file(folder / "a.csv", content))
            found = facts(folder / "data", result)
            assert (found["rows"], found["bad_rows"]) == (2, 0)
            ids.add(result.stdout)
        assert len(ids) == 1

    def test_cells_of_megabytes_and_a_long_first_row_are_read(self, tmp_path: Path):
        long = "x" * 3_000_000
        file = bytes_file(tmp_path / "a.csv", f'1,{long},10\n2,"{long}",20\n3,,30\n')
        result = table(tmp_path / "data", file, "ts=1,value=3,kind==value")
        assert "3 rows, 0 bad" in result.stderr
        options = ("--columns", "ts=1,text=3", "--time", "s")
        assert "3 rows, 0 bad" in imported(tmp_path / "data", "tweets", file, *options).stderr

    @pytest.mark.parametrize(
        ("content", "form"),
        [
            ('{"t":1,"v":2}\n{"t":2,"v":3}\n', "JSON lines"),
            ('{"t": 1, "note": "a, b", "v": 2}\n', "JSON lines"),
            ('[{"t": 1, "v": 2}]\n', "JSON"),
            ('[\n  {"t": 1, "v": 2}\n]\n', "JSON"),
        ],
    )
    def test_json_is_named(self, tmp_path: Path, content: str, form: str):
        file = bytes_file(tmp_path / "a.csv", content)
        match = f"a.csv: line 1 is .*so this is {form}, not CSV; convert it to Parquet"
        with pytest.raises(DatasetError, match=match):
            table(tmp_path / "data", file, "ts=t,value=v,kind==value", "--format", "csv")
        with pytest.raises(DatasetError, match=match):
            table(tmp_path / "data", file, "ts=1,value=2,kind==value", "--format", "csv")
        with pytest.raises(DatasetError, match=match):
            imported(tmp_path / "data", "retail", file, "--columns", RETAIL)


RETAIL = "ts=t,ticket=v,item=v,net_paid=v"


@pytest.mark.parametrize("kind", ["table", "retail"])
def test_equal_content_is_reported_as_each_import_found_it(kind: str, tmp_path: Path):
    root, parquet = tmp_path / "data", tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": [1, 2], "v": [10, 20]}), parquet)
    text = bytes_file(tmp_path / "b.csv", "t,v\n1,10\nx,5\n2,20\n")

    def of(file: Path, *options: str) -> tuple[str, str, Sequence[object]]:
        if kind == "table":
            result = table(root, file, "ts=t,value=v,kind==value", *options)
        else:
            result = imported(root, kind, file, "--columns", RETAIL, *options)
        found = facts(root, result)
        names = [each["name"] for each in json.loads(json.dumps(found["files"]))]
        return result.stdout, result.stderr, (names, found["bad_rows"])

    first, second, again = of(parquet), of(text, "--max-bad", "1"), of(parquet)
    assert first[0] == second[0] == again[0]
    assert "2 rows, 0 bad" in first[1] and "2 rows, 0 bad" in again[1]
    assert "2 rows, 1 bad" in second[1]
    assert ("b.csv: row 3" if kind == "table" else "b.csv:3: ") in second[1]
    assert "b.csv" not in again[1]
    assert [each[2] for each in (first, second, again)] == [
        (["a.parquet"], 0),
        (["b.csv"], 1),
        (["a.parquet"], 0),
    ]
