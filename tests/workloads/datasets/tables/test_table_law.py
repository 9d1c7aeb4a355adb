"""A table's dataset is what a few plain lines of Python make of its rows."""

import csv as plain_csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import InProcess
from streamlab.workloads.datasets.tables import Table, arrays, csv, frame, parquet, rows
from streamlab.workloads.datasets.tables.required_columns import required_columns
from streamlab.workloads.datasets.tables.table_rows import read
from tests.workloads.datasets.tables.programs import SUMS, VIEWS, made

Event = tuple[int, str, str, int]
"""Time, page, kind, and the user or the zip code of the page."""

KEYS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=4).filter(
    lambda text: text == text.strip() != "" and "\0" not in text and "\r" not in text
)
EVENTS = st.lists(
    st.tuples(
        st.integers(-(2**61), 2**61),
        st.one_of(KEYS, st.integers(0, 3000).map(str)),
        st.sampled_from(VIEWS.kinds),
        st.integers(-(2**31), 2**31 - 1),
    ),
    min_size=1,
    max_size=40,
)
NAMES = ("at", "page", "what", "user", "meta")


def cells(event: Event) -> list[object]:
    ts, page, kind, number = event
    return [ts, page, kind, *((number, None) if kind == "view" else (None, number))]


def table_of(form: str, folder: Path, events: Sequence[Event], streams: int) -> Table:
    meaning = {"ts": "at", "key": "page", "kind": "what", "streams": streams, "time_format": "ms"}
    found = [dict(zip(NAMES, cells(event), strict=True)) for event in events]
    columns = {name: [row[name] for row in found] for name in NAMES}
    if form == "csv":
        with (folder / "a.csv").open("w", encoding="utf-8", newline="") as file:
            writer = plain_csv.writer(file)
            writer.writerows([NAMES, *(cells(event) for event in events)])
        return csv(folder / "a.csv", **meaning)  # type: ignore[arg-type]
    if form == "parquet":
        pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=7)
        return parquet(folder / "a.parquet", **meaning)  # type: ignore[arg-type]
    if form == "frame":
        return frame(pa.table(columns), **meaning)  # type: ignore[arg-type]
    if form == "rows":
        return rows(lambda: iter(found), **meaning)  # type: ignore[arg-type]
    return arrays(columns, **meaning)  # type: ignore[arg-type]


def read_back(dataset: Dataset) -> list[list[tuple[int, int, int]]]:
    """Return (ts, tag, number) of all events of each stream."""
    streams = []
    for stream in dataset.load().streams:
        tags = [stream.kinds[0]] * len(stream) if stream.tag is None else stream.tag.tolist()
        numbers = list(stream.payload["user" if stream.kinds[0] == 0 else "meta"])
        streams.append(list(zip(stream.ts.tolist(), tags, map(int, numbers), strict=True)))
    return streams


def wanted(events: Sequence[Event], streams: int) -> list[list[tuple[int, int, int]]]:
    pages = list(dict.fromkeys(page for _, page, _, _ in events))
    numbers = [int(page) for page in pages if page.isascii() and page.isdecimal()]
    whole = len(numbers) == len(pages) and [str(number) for number in numbers] == pages
    if whole and max(numbers) < max(1024, 4 * len(pages)):
        key = {page: int(page) for page in pages}
    else:
        key = {page: index for index, page in enumerate(pages)}
    found = []
    for kind, name in enumerate(VIEWS.kinds):
        mine = sorted((event for event in events if event[2] == name), key=lambda event: event[0])
        dealt = [(ts, kind + len(VIEWS.kinds) * key[page], number) for ts, page, _, number in mine]
        count = 1 if name == "update" else streams
        found += [dealt[place::count] for place in range(count)]
    return found


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "arrays", "rows"])
@settings(deadline=None, max_examples=15)
@given(events=EVENTS, streams=st.integers(1, 3))
def test_every_source_gives_the_rows_of_plain_python(form: str, events: list[Event], streams: int):
    with tempfile.TemporaryDirectory() as folder:
        catalog = Catalog(root=Path(folder) / "data")
        dataset = made(table_of(form, Path(folder), events, streams), VIEWS, catalog)
        assert read_back(dataset) == wanted(events, streams)


CELLS = st.lists(
    st.sampled_from(['"', '""', ",", "\n", "\n", "\r\n", "7", "8,9,", '"a\n3,b,4\nc",']),
    max_size=30,
).map("".join)


@settings(deadline=None, max_examples=25)
@given(content=CELLS, quoted=st.booleans(), columns=st.sampled_from(["t", "v"]))
def test_every_line_of_a_csv_is_in_the_report(content: str, quoted: bool, columns: str):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.csv"
        text = f"t,note,v\n1,x,2\n{content}\n"
        file.write_bytes(text.encode())
        table = csv(
            file, ts="t", kind="=value", columns={"value": columns}, quoted=quoted, max_bad=1000
        )
        try:
            rows_read = read(table, required_columns(SUMS), Path(folder) / "rows", InProcess())
            found = rows_read.report
        except DatasetError as error:
            assert quoted
            assert "is never closed" in str(error)
            return
        lines = found.rows + found.bad + found.lines_in_rows + found.lines_in_bad
        assert lines + found.empty_lines + 1 == text.count("\n")
