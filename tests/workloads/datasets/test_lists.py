"""Columns of lists on disk: written, identified, loaded, cut and put in total order."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.manifest import WrittenStream, file_sha256
from streamlab.workloads.datasets.stream_file import ROWS_PER_GROUP, write_stream
from streamlab.workloads.datasets.stream_reader import ALIGNMENT_BYTES, load_stream
from streamlab.workloads.datasets.time_cutoff import event_times, truncate
from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import (
    Alphabet,
    Block,
    ColumnType,
    Input,
    ListColumn,
    ListType,
    ModelError,
    Stream,
)
from tests.examples import examples

TYPES: dict[str, ColumnType] = {
    "ts": np.dtype(np.int64),
    "chars": np.dtype(np.int32),
    "words": ListType(np.dtype(np.int32)),
}
WORDS = st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=9)


def block(words: list[list[int]], first: int = 0) -> Block:
    rows = np.arange(first, first + len(words), dtype=np.int64)
    return {"ts": rows, "chars": rows.astype(np.int32), "words": ListColumn.of(words, np.int32)}


def written(folder: Path, *blocks: Block) -> WrittenStream:
    folder.mkdir(parents=True, exist_ok=True)
    return write_stream(folder, "tweet-0", (0,), TYPES, iter(blocks), Alphabet(kinds=("tweet",)))


def listed(folder: Path, record: WrittenStream) -> DatasetStream:
    return DatasetStream(
        name=record.name,
        kinds=record.kinds,
        path=folder / record.file,
        rows=record.rows,
        ts_min=record.ts_min,
        ts_max=record.ts_max,
        columns=record.columns,
        sha256=record.sha256,
        file_sha256=file_sha256(folder / record.file),
    )


def lists_of(stream: Stream, name: str = "words") -> ListColumn:
    column = stream.payload[name]
    assert isinstance(column, ListColumn)
    return column


@given(WORDS, st.integers(0, 9))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(40),
    deadline=None,
)
def test_lists_come_back_and_their_hash_is_that_of_any_split(
    tmp_path: Path, words: list[list[int]], at: int
):
    whole, split = tmp_path / "whole", tmp_path / "split"
    one = written(whole, block(words))
    two = written(split, block(words[:at]), block(words[at:], first=len(words[:at])))
    assert one.sha256 == two.sha256
    assert dict(one.columns) == {"ts": "int64", "chars": "int32", "words": "list:int32"}
    found = lists_of(load_stream(listed(whole, one)))
    assert list(found.rows()) == words
    assert found.dtype == np.int32
    assert found.offsets[0] == 0
    assert found.offsets.ctypes.data % ALIGNMENT_BYTES == 0
    assert not len(found.values) or found.values.ctypes.data % ALIGNMENT_BYTES == 0


@pytest.mark.parametrize("other", [[[1], [2, 3]], [[1, 2], [4]], [[1, 2, 3], []], [[1, 2, 3]]])
def test_other_lists_have_another_hash(tmp_path: Path, other: list[list[int]]):
    one = written(tmp_path / "one", block([[1, 2], [3]]))
    assert written(tmp_path / "other", block(other)).sha256 != one.sha256


def test_a_slice_of_lists_is_written_as_the_lists_that_it_shows(tmp_path: Path):
    rows = np.arange(2, dtype=np.int64)
    part = ListColumn.of([[9], [1, 2], [3], [9, 9]], np.int64)[1:3]
    one = written(tmp_path / "a", {"ts": rows, "chars": rows.astype(np.int32), "words": part})
    assert one.sha256 == written(tmp_path / "b", block([[1, 2], [3]])).sha256


def test_lists_across_row_groups_are_read_and_cut(tmp_path: Path):
    rows = ROWS_PER_GROUP + 1000
    ts = np.arange(rows, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(ts % 3)]).astype(np.int64)
    words = ListColumn(offsets, np.arange(offsets[-1], dtype=np.int32))
    half = rows // 2
    blocks: list[Block] = [
        {"ts": ts[at], "chars": ts[at].astype(np.int32), "words": words[at]}
        for at in (slice(0, half), slice(half, rows - 10), slice(rows - 10, rows))
    ]
    stream = listed(tmp_path, written(tmp_path, *blocks))
    assert pq.ParquetFile(stream.path).num_row_groups > 1
    found = lists_of(load_stream(stream))
    assert np.array_equal(found.offsets, offsets)
    assert np.array_equal(found.values, words.values)
    dataset = Dataset(
        id="0",
        workload="tweets",
        alphabet=Alphabet(kinds=("tweet",), keys=1),
        streams=(stream,),
        origin={},
        source="",
        licence="",
    )
    for until in (0, 5, ROWS_PER_GROUP, ROWS_PER_GROUP + 7):
        cut = truncate(dataset, event_times(dataset), until).load()
        assert cut.until_ts == until
        left = lists_of(cut.streams[0])
        assert np.array_equal(left.offsets, offsets[: until + 1])
        assert np.array_equal(left.values, words.values[: offsets[until]])
    assert dataset.load().until_ts is None


def test_lists_where_values_belong_and_the_reverse_are_refused(tmp_path: Path):
    rows = np.arange(2, dtype=np.int64)
    with pytest.raises(DatasetError, match=r"column words must be list:int32, .* holds no lists"):
        written(tmp_path, {"ts": rows, "chars": rows, "words": rows})
    lists = ListColumn.of([[1], []], np.int32)
    with pytest.raises(DatasetError, match=r"column chars must be int32, .* holds lists"):
        written(tmp_path, {"ts": rows, "chars": lists, "words": lists})


def test_total_order_brings_lists_along(tmp_path: Path):
    kinds = Alphabet(kinds=("a", "b"), keys=1)

    def stream(name: str, kind: int, ts: list[int], words: list[list[int]] | None) -> Stream:
        payload = {} if words is None else {"words": ListColumn.of(words, np.int32)}
        return Stream(name=name, kinds=(kind,), ts=np.array(ts, dtype=np.int64), payload=payload)

    data = Input(
        alphabet=kinds,
        streams=(
            stream("a", 0, [1, 5, 5], [[1], [2, 3], []]),
            stream("b", 1, [0, 5], None),
            stream("c", 0, [5, 6], [[7, 8], [9]]),
        ),
    )
    found = total_order(data, np.dtype([]), {"words": np.dtype(np.int64)})
    assert found.ts.tolist() == [0, 1, 5, 5, 5, 5, 6]
    assert list(found.lists["words"].rows()) == [[], [1], [2, 3], [], [], [7, 8], [9]]
    assert found.lists["words"].dtype == np.int64
    with pytest.raises(ModelError, match="stream a: column words holds lists"):
        total_order(data, np.dtype([("words", np.int32)]))
