"""Sources of rows, and errors of sources."""

import gzip
import lzma
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import (
    Table,
    arrays,
    arrow,
    content_key,
    csv,
    frame,
    parquet,
    rows,
)
from streamlab.workloads.datasets.text import decoding, records
from tests.workloads.datasets.tables.programs import COUNTER, SUMS, made, text

COLUMNS = {"t": [1, 2, 3], "value": [10, 20, 30]}
LINES = ["t,value", "1,10", "2,20", "3,30"]


def values(dataset: Dataset) -> list[tuple[int, int]]:
    stream = dataset.load().streams[0]
    found = np.asarray(stream.payload["value"])
    return list(zip(stream.ts.tolist(), found.tolist(), strict=True))


def read(table: Table, catalog: Catalog) -> list[tuple[int, int]]:
    return values(made(table, SUMS, catalog))


def assert_refused(catalog: Catalog, table: Table, match: str) -> None:
    with pytest.raises(DatasetError, match=match):
        made(table, SUMS, catalog)
    assert not catalog.root.exists() or list(catalog.root.iterdir()) == []


def of(path: object, **said: object) -> Table:
    return csv(path, ts="t", kind="=value", **said)  # type: ignore[arg-type]


WHOLE = [(1, 10), (2, 20), (3, 30)]


class TestText:
    def test_a_csv_may_be_plain_compressed_or_in_an_archive(self, catalog: Catalog, tmp_path: Path):
        plain = text(tmp_path / "a.csv", *LINES)
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
        (tmp_path / "a.csv.xz").write_bytes(lzma.compress(plain.read_bytes()))
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
            zipped.write(plain, "in/a.csv")
        with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tarred:
            tarred.add(plain, "in/a.csv")
        for name in ("a.csv", "a.csv.gz", "a.csv.xz", "a.zip", "a.tar.gz"):
            assert read(of(tmp_path / name), catalog) == WHOLE

    def test_quotes_may_be_plain_characters(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.csv", "t|value|note", '1|10|"so', "2|20|x", '3|30|"')
        joined = made(of(file, delimiter="|"), SUMS, catalog)
        assert (values(joined), joined.origin["rows_of_several_lines"]) == (WHOLE[:1], 1)
        assert read(of(file, delimiter="|", quoted=False), catalog) == WHOLE

    def test_several_files_and_globs_are_read_one_after_the_other(
        self, catalog: Catalog, tmp_path: Path
    ):
        text(tmp_path / "b.csv", "value,t", "30,3")
        text(tmp_path / "a.csv", "t,value", "1,10", "2,20")
        for given in ([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "*.csv"):
            dataset = made(of(given), SUMS, catalog)
            assert values(dataset) == WHOLE
        files = dataset.origin["files"]
        assert isinstance(files, list)
        assert [file["name"] for file in files] == ["a.csv", "b.csv"]

    def test_columns_without_a_header_go_by_number(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.csv", "10;x;1", "20;x;2", "30;x;3")
        table = csv(file, ts="3", delimiter=";", kind="=value", columns={"value": "1"})
        assert read(table, catalog) == WHOLE

    def test_a_file_is_read_in_blocks(
        self, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(decoding, "BLOCK_BYTES", 64)
        lines = [f"{row},{row}" for row in range(1000)]
        lines[500] = "500,x"
        lines[700] = "700"
        file = text(tmp_path / "a.csv", "t,value", *lines)
        dataset = made(of(file, max_bad=2), SUMS, catalog)
        assert values(dataset) == [(row, row) for row in range(1000) if row not in (500, 700)]
        assert dataset.origin["bad_lines"] == [
            f"{file}: row 502, column value: 'x' is not a valid int64",
            f"{file}: row 702: 1 columns instead of 2: '700'",
        ]

    def test_quoted_cells_may_hold_delimiters_and_line_ends(self, catalog: Catalog, tmp_path: Path):
        file = text(
            tmp_path / "a.csv", 't,"no\nte",value', '1,"a,\nb ""c""",10', "2,,20", '"3",,"30"'
        )
        assert read(of(file), catalog) == WHOLE
        file = text(tmp_path / "b.csv", 't,"no\nte",value', '1,"a,\nb",10', "2,,x", "3,,30")
        assert_refused(
            Catalog(root=tmp_path / "other"), of(file), r"b.csv: row 3 \(line 5\), column value"
        )

    @pytest.mark.parametrize(
        ("content", "match"),
        [
            (b"", "a.csv is empty"),
            (b"\n\n", "a.csv is empty"),
            (b"t,value\n", "a.csv has no rows"),
            (b"t,value,t\n1,2,3\n", "2 columns are called t"),
            (b"time,value\n1,2\n", "no column t for ts; name its column .*there are time, value"),
            (b"t;value\n1;2\n", "no column t for ts.*there are t;value"),
            (b"t,value\n1,2\n2\n3,4\n", "row 3: 1 columns instead of 2: '2'; mend"),
            (b"t,value\n1,2\n2,3,4\n3,4\n", "row 3: 3 columns instead of 2"),
            (b"t,value\n1,2\n2,\xff\n", "row 3: it is not UTF-8"),
            (b"t,value\n1,2\n2,\x00\n", "line 3 holds a byte 0"),
            ("t,value\n1,2\n".encode("utf-16-le"), "if it is UTF-16 without its mark"),
            (
                b't,note,value\n1,a,2\n2,"b,3\n3,c,4\n',
                "the quote opened in line 3 is never closed .*--no-quotes",
            ),
            (
                b't,value,note\n1,2,a\n2,3,"b\n3,4,c\n',
                "the quote opened in line 3 is never closed",
            ),
            (b"t,value\n-,-\n-,-\n", "none of the first 2 rows can be read"),
            (
                b"t,value\n1\n2,a\n3,b\n",  # the columns are at fault, not the short row
                "row 3, column value: 'a' is not a valid int64; none of .* give --ids value",
            ),
        ],
    )
    def test_a_file_that_is_no_table_is_reported(
        self, catalog: Catalog, tmp_path: Path, content: bytes, match: str
    ):
        (tmp_path / "a.csv").write_bytes(content)
        assert_refused(catalog, of(tmp_path / "a.csv"), match)

    def test_a_line_that_is_too_long_is_a_bad_row(
        self, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        for module in (decoding, records):
            monkeypatch.setattr(module, "LONGEST_LINE_BYTES", 64)
        monkeypatch.setattr(decoding, "BLOCK_BYTES", 16)
        file = text(tmp_path / "a.csv", "t,value,note", "1,10,", "2,3," + "x" * 500, "2,20,")
        assert_refused(catalog, of(file), "row 3: longer than ")
        assert read(of(file, max_bad=1), catalog) == WHOLE[:2]
        text(file, "t,value,note", "1,10,", '2,20,"x', *["3,30,"] * 100, '3,30,"')
        other = Catalog(root=tmp_path / "other")
        assert_refused(other, of(file), "the quote opened in line 3 is not closed within ")

    def test_a_remedy_is_only_named_where_it_is_one(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.csv", "t,value", "1,x", "2,y", "3,30")
        match = r"row 2, column value: 'x' is not a valid int64; 2 of 3 rows are bad; .*--max-bad 2"
        assert_refused(catalog, of(file), match)
        for row in (",", "later,1"):  # no text of the field's is at fault
            other = text(tmp_path / "b.csv", "t,value", row)
            assert_refused(catalog, of(other), "none of the first 1 rows .* as declared$")
        assert read(of(file, max_bad=2), catalog) == WHOLE[2:]
        file = text(tmp_path / "b.csv", "t,value", "1,x", "2,y")
        for most in (0, 1, 2):
            with pytest.raises(DatasetError, match="'x' is not a valid int64") as refused:
                made(of(file, max_bad=most), SUMS, catalog)
            assert "max-bad" not in str(refused.value)


class TestFiles:
    @pytest.mark.parametrize("make", [csv, parquet, arrow])
    def test_paths_that_are_no_files_are_reported(
        self, catalog: Catalog, tmp_path: Path, make: object
    ):
        assert callable(make)
        (tmp_path / "empty").touch()
        (tmp_path / "lfs").write_text("version https://git-lfs.github.com/spec/v1\n")
        (tmp_path / "folder").mkdir()
        for name, match in [
            ("no.csv", "no.csv: no such file"),
            ("lfs", "lfs is a Git LFS pointer"),
            ("*.nothing", "nothing matches no file"),
            ("empty", "empty is empty"),
            ("folder", "folder is a folder"),
        ]:
            assert_refused(catalog, make(tmp_path / name, ts="t", kind="=value"), match)

    def test_a_file_without_read_permission_is_reported(self, catalog: Catalog, tmp_path: Path):
        file = text(tmp_path / "a.csv", *LINES)
        file.chmod(0)
        try:
            file.read_bytes()
        except PermissionError:
            assert_refused(catalog, of(file), "cannot be read: Permission denied")
        else:
            pytest.skip("this user may read any file")

    @pytest.mark.parametrize("make", [parquet, arrow])
    def test_a_file_of_another_form_is_reported(
        self, catalog: Catalog, tmp_path: Path, make: object
    ):
        assert callable(make)
        file = text(tmp_path / "a.csv", *LINES)
        assert_refused(
            catalog, make(file, ts="t", kind="=value"), "a.csv (cannot be read as|is neither)"
        )

    def test_a_folder_of_parquet_files_may_have_several_types(
        self, catalog: Catalog, tmp_path: Path
    ):
        folder = tmp_path / "all"
        (folder / "deep").mkdir(parents=True)
        pq.write_table(pa.table({"t": [1], "value": [10]}), folder / "a.parquet")
        pq.write_table(pa.table({"value": ["20"], "t": [2]}), folder / "b.parquet")
        pq.write_table(pa.table({"t": ["3"], "value": [30.0]}), folder / "deep/c.parquet")
        (folder / "_SUCCESS").touch()
        assert read(parquet(folder, ts="t", kind="=value"), catalog) == WHOLE
        pq.write_table(pa.table({"t": [4], "value": [[1]]}), folder / "deep/d.parquet")
        with pytest.raises(DatasetError, match=r"d.parquet: column value: a column of type list"):
            made(parquet(folder, ts="t", kind="=value"), SUMS, catalog)

    def test_encoded_columns_have_the_encoded_values(self, catalog: Catalog, tmp_path: Path):
        file = tmp_path / "a.parquet"
        coded = pa.array(["10", "20", "30"]).dictionary_encode()
        pq.write_table(pa.table({"t": [1, 2, 3], "value": coded}), file)
        assert read(parquet(file, ts="t", kind="=value"), catalog) == WHOLE

    def test_arrow_files_and_streams_are_read(self, catalog: Catalog, tmp_path: Path):
        table = pa.table(COLUMNS)
        pyarrow.feather.write_feather(table, str(tmp_path / "a.arrow"))
        with pa.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as stream:
            stream.write_table(table)
        for name in ("a.arrow", "b.arrow"):
            assert read(arrow(tmp_path / name, ts="t", kind="=value"), catalog) == WHOLE


class TestMemory:
    @pytest.mark.parametrize(
        "table",
        [
            frame(pd.DataFrame(COLUMNS), ts="t", kind="=value"),
            frame(pl.DataFrame(COLUMNS), ts="t", kind="=value"),
            arrow(pa.table(COLUMNS), ts="t", kind="=value"),
            arrays({name: np.array(each) for name, each in COLUMNS.items()}, ts="t", kind="=value"),
            arrays(
                np.array([(1, 10), (2, 20), (3, 30)], [("t", np.int32), ("value", np.int8)]),
                ts="t",
                kind="=value",
            ),
        ],
        ids=["pandas", "polars", "arrow", "arrays", "records"],
    )
    def test_frames_and_arrays_are_read(self, catalog: Catalog, table: Table):
        assert read(table, catalog) == WHOLE
        assert content_key(table) == content_key(table)

    def test_a_frame_with_holes_is_refused_at_the_row(self, catalog: Catalog):
        for given in (pd.DataFrame, pl.DataFrame):
            table = frame(given({"t": [1, 2], "value": [1.0, None]}), ts="t", kind="=value")
            with pytest.raises(DatasetError, match=r"Frame: row 2, column value: is empty"):
                made(table, SUMS, catalog)

    def test_functions_may_yield_rows_or_blocks(self, catalog: Catalog):
        def one_by_one() -> Iterator[Mapping[str, object]]:
            for t, value in WHOLE:
                yield {"t": t, "value": value}

        def in_blocks() -> Iterator[Mapping[str, object]]:
            yield {"t": np.array([1]), "value": np.array([10])}
            yield {"t": [2, 3], "value": [20, 30]}

        for function in (one_by_one, in_blocks):
            assert read(rows(function, ts="t", kind="=value"), catalog) == WHOLE

    def test_the_rows_that_a_function_yields_are_the_content(self):
        most = 3

        def numbers() -> Iterator[Mapping[str, object]]:
            for t in range(most):
                yield {"t": t, "value": t}

        table = rows(numbers, ts="t")
        before = content_key(table)
        assert content_key(table) == before
        most = 4
        assert content_key(table) != before

    @pytest.mark.parametrize(
        ("items", "match"),
        [
            ([], "has no rows"),
            ([5], "item 1 is 5; yield mappings"),
            ([{"value": 1}], "item 1 is .* with t among them"),
            ([{"t": 1, "value": 1}, {"t": 2}], "give None for missing values"),
            ([{"t": [1], "value": [1, 2]}], "not equally long: t 1, value 2"),
            ([{"t": 1, "value": 1}, {"t": 2, "value": "a"}], "column value is not a column of one"),
            (
                [{"t": [1], "value": [1]}, {"t": [2], "other": [1]}],
                "give all blocks the same columns",
            ),
        ],
    )
    def test_wrong_rows_of_a_function_are_reported(
        self, catalog: Catalog, items: list[Mapping[str, object]], match: str
    ):
        assert_refused(catalog, rows(lambda: iter(items), ts="t", kind="=value"), match)

    def test_a_declaration_that_is_no_table_is_refused(self):
        with pytest.raises(DatasetError, match="list does not have Arrow's interface"):
            frame([1, 2], ts="t")
        with pytest.raises(DatasetError, match="give a mapping from names to arrays"):
            arrays([1, 2], ts="t")
        with pytest.raises(DatasetError, match="give a function without arguments"):
            rows([1, 2])  # type: ignore[arg-type]
        with pytest.raises(DatasetError, match="delimiter is ';;'; give one character"):
            csv("a.csv", ts="t", delimiter=";;")
        with pytest.raises(DatasetError, match="5 is not a path"):
            csv(5, ts="t")  # type: ignore[arg-type]

    def test_declaring_imports_nothing_heavy(self):
        code = (
            "import sys; from streamlab.workloads.datasets.tables import csv, parquet, arrays;"
            "csv('a.csv', ts='t'); parquet('a', ts='t'); arrays({'t': [1]}, ts='t');"
            "print([name for name in ('pyarrow', 'pandas', 'polars') if name in sys.modules])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert found.stdout.decode().strip() == "[]"


class TestOfEveryTable:
    def test_the_file_of_a_row_may_be_its_key_and_its_number_its_time(
        self, catalog: Catalog, tmp_path: Path
    ):
        text(tmp_path / "a.csv", "x", "y")
        text(tmp_path / "b.csv", "z")
        table = csv(tmp_path / "*.csv", ts="@row", key="@file", kind="increment", columns={})
        dataset = made(table, COUNTER, catalog)
        assert dataset.alphabet.keys == 1, "the first rows are headers"
        text(tmp_path / "a.csv", "h", "x", "y")
        text(tmp_path / "b.csv", "h", "z")
        stream = made(table, COUNTER, catalog).load().streams[0]
        assert stream.ts.tolist() == [1, 2, 3]
        assert stream.tag is not None
        assert (stream.tag // 2).tolist() == [0, 0, 1]
        before = content_key(table)
        (tmp_path / "b.csv").rename(tmp_path / "c.csv")
        assert content_key(table) != before, "the name is in the data"

    def test_members_of_an_archive_are_chosen_by_a_pattern(self, catalog: Catalog, tmp_path: Path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
            zipped.writestr("in/a.csv", "t,value\n1,10\n")
            zipped.writestr("in/about.csv", "name\nx\n")
        with pytest.raises(DatasetError, match=r"a.zip!in/about.csv: no column t"):
            made(of(tmp_path / "a.zip"), SUMS, catalog)
        assert read(of(f"{tmp_path}/a.zip!*/a.csv"), catalog) == WHOLE[:1]
        assert read(of("a.zip!*/a.csv").relative_to(tmp_path), catalog) == WHOLE[:1]
        with pytest.raises(DatasetError, match=r"a.zip has no member \*.txt"):
            made(of(f"{tmp_path}/a.zip!*.txt"), SUMS, catalog)

    @pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
    @pytest.mark.parametrize("quoted", [True, False])
    def test_blanks_within_quotes_are_of_their_cell(
        self,
        catalog: Catalog,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        block: int,
        quoted: bool,
    ):
        monkeypatch.setattr(decoding, "BLOCK_BYTES", block)
        keys = ['"a  b"', '"a b"', '"c  \r\n\t ""d""  "', '5"  6"'] if quoted else ['"a', 'b"']
        lines = [f" {ts}\t {key}   increment " for ts, key in enumerate(keys)]
        file = tmp_path / "a.txt"
        file.write_bytes("\n".join(["  t  k  w", *lines]).encode())
        table = csv(file, ts="t", key="k", kind="w", delimiter=" ", quoted=quoted)
        if quoted:  # what opens no cell is no quote, so that the last row has a cell too many
            with pytest.raises(DatasetError, match=r"row 5 \(line 6\): 4 columns instead of 3"):
                made(table, COUNTER, catalog)
            table = replace(table, max_bad=1)
        dataset = made(table, COUNTER, catalog)
        (path,) = (file.path for file in dataset.dictionaries)
        expected = ["a  b", "a b", 'c  \r\n\t "d"'] if quoted else keys
        assert pq.read_table(path).column("text").to_pylist() == expected


def test_frames_whose_categories_differ_differ():
    def table(words):
        kinds = pd.Categorical.from_codes([0, 1, 0], categories=words)
        return frame(pd.DataFrame({"t": [1, 2, 3], "key": kinds}), ts="t", key="key", kind="=value")

    assert content_key(table(["a", "b"])) == content_key(table(["a", "b"]))
    assert content_key(table(["a", "b"])) != content_key(table(["a", "c"]))
