"""The data inside a page are those of the run."""

import base64
import io
import re

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from streamlab.reports.page import write_report
from streamlab.results.schema import COLUMNS, arrow_schema, columns_of
from streamlab.results.store import read_run


@pytest.fixture
def files(make_run, typical, offered, tmp_path):
    odd = 'a "quoted", odd\n<b>line</b>, =1+1 \u00e9'
    rows = [*typical, offered(reason=odd, throughput_eps=0.1 + 0.2, objective=""), offered(plan="")]
    run_dir = make_run(rows)
    page = write_report(run_dir, tmp_path / "mailed.html").read_text(encoding="utf-8")
    found = re.findall(r'<a download="([^"]+)" href="data:[^,"]+;base64,([^"]+)">', page)
    files = {name.partition(".")[2]: base64.b64decode(content) for name, content in found}
    assert set(files) == {"csv", "parquet"}
    return pa.Table.from_pylist(
        list(map(columns_of, read_run(run_dir).rows)), schema=arrow_schema()
    ), files


def test_the_parquet_file_is_the_runs_table(files):
    table, found = files
    read = pq.read_table(io.BytesIO(found["parquet"]))
    assert read.schema.metadata[b"lab.schema_version"]
    assert read.equals(table)
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(found["parquet"])), table.to_pandas())


def test_the_csv_file_reads_back_as_the_runs_table(files):
    table, found = files
    read = pyarrow.csv.read_csv(
        io.BytesIO(found["csv"]),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=arrow_schema(), strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    assert read.equals(table.cast(read.schema))
    frame = pd.read_csv(io.BytesIO(found["csv"]), float_precision="round_trip")
    assert list(frame.columns) == [column.name for column in COLUMNS]
    assert frame["throughput_eps"].equals(table.to_pandas()["throughput_eps"])
