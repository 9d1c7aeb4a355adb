"""Defines the records of a topic: a header (`HEADER`), and up to 1,000 rows of a stream (`Topic.row`).

All numbers are little-endian, and nothing is padded.
A row carries its number in its stream, so a reader notices rows that are missing or come twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import IntArray, OfferedLoad
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Input, ListColumn, Stream

HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("end", "<i4"),
        ("dataset", "S16"),
        ("stream", "<i4"),
        ("rows", "<i4"),
        ("promise", "<i8"),
    ]
)
"""Fields that begin a record. `end` is 1 in the last record of a partition, else 0.
`dataset` is the beginning of the dataset's id. Later rows of the partition have event times above `promise`."""
MAGIC = b"LAB1"
MAX_ROWS = 1000
SILENCE_S = 10.0
"""A broker that owes records and sends none for this long counts as dead."""
PARTITIONS = 4
"""Number of partitions per topic if the dataset has keys; a topic without keys has one partition."""
NO_PROMISE = np.iinfo(np.int64).min
_SEED, _MULTIPLIER = np.uint32(0x9747B28C), np.uint32(0x5BD1E995)
"""Constants of murmur2 in Kafka's clients (`Utils.murmur2`)."""

Rows = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic of a stream.

    Attributes:
        name: `lab.DATASET.STREAM`, with the beginning of the dataset's id and the stream's index.
        kinds: number of kinds in the dataset's alphabet; the key of a row is its tag divided by this number.
        dataset: the beginning of the dataset's id.
        stream: the stream's index.
        partitions: number of partitions.
        row: dtype of a row: `row` (its number), `due_ns` (0 without a load), and the stream's columns.
    """

    name: str
    kinds: int
    dataset: bytes
    stream: int
    partitions: int
    row: np.dtype[np.void]

    def byte_offset(self, column: str | None) -> int:
        """Return the byte of a row at which a column begins; -1 if the stream lacks the column."""
        if column is None or column not in (self.row.names or ()):
            return -1
        assert self.row.fields is not None
        return int(self.row.fields[column][1])

    def encode(self, rows: Rows, *, promise: int = NO_PROMISE, end: bool = False) -> bytes:
        """Return a record with rows of one partition."""
        header = np.zeros((), dtype=HEADER)
        header["magic"], header["dataset"], header["stream"] = MAGIC, self.dataset, self.stream
        header["rows"], header["promise"], header["end"] = len(rows), promise, end
        return header.tobytes() + rows.tobytes()

    def decode(self, record: bytes) -> tuple[Any, Rows] | None:
        """Return the header and the rows of a record; None if the lab did not write it for this topic."""
        if len(record) < HEADER.itemsize:
            return None
        header = np.frombuffer(record, dtype=HEADER, count=1)[0]
        size = HEADER.itemsize + int(header["rows"]) * self.row.itemsize
        expected = (MAGIC, self.dataset, self.stream, len(record))
        if (header["magic"], header["dataset"], header["stream"], size) != expected:
            return None
        return header, np.frombuffer(record, dtype=self.row, offset=HEADER.itemsize)


def list_column(dataset: Dataset) -> str | None:
    """Return the first list column of a dataset, or None. Records cannot carry lists."""
    columns = (column for stream in dataset.streams for column in stream.columns)
    return next((name for name, kind in columns if kind.startswith("list:")), None)


def topic_of(dataset: Dataset, index: int) -> Topic:
    """Return the topic of a stream."""
    stream = dataset.streams[index]
    columns = [(name, np.dtype(kind).newbyteorder("<")) for name, kind in stream.columns]
    return Topic(
        name=f"lab.{dataset.id[:16]}.{index}",
        kinds=len(dataset.alphabet.kinds),
        dataset=dataset.id[:16].encode(),
        stream=index,
        partitions=PARTITIONS if dataset.alphabet.keys > 1 else 1,
        row=np.dtype([("row", "<i8"), ("due_ns", "<i8"), *columns]),
    )


def topics_of(dataset: Dataset) -> tuple[Topic, ...]:
    """Return the topics of all streams."""
    return tuple(topic_of(dataset, index) for index in range(len(dataset.streams)))


def row_bytes(dataset: Dataset) -> int:
    """Return the size of a row of the stream that has the most rows."""
    rows = [stream.rows for stream in dataset.streams]
    return topic_of(dataset, rows.index(max(rows))).row.itemsize


def rows_of(topic: Topic, stream: Stream, begin: int, end: int) -> Rows:
    """Return rows `begin` to `end` of a stream."""
    rows = np.zeros(end - begin, dtype=topic.row)
    rows["row"] = np.arange(begin, end)
    for name, column in columns_of(stream).items():
        rows[name] = column[begin:end]
    return rows


def columns_of(stream: Stream) -> dict[str, npt.NDArray[np.generic]]:
    """Return all columns of a stream that has no lists."""
    columns: dict[str, npt.NDArray[np.generic]] = {"ts": stream.ts}
    if stream.tag is not None:
        columns["tag"] = stream.tag
    for name, column in stream.payload.items():
        assert not isinstance(column, ListColumn), "list_column refuses them"
        columns[name] = column
    return columns


def longest_silence_s(load: OfferedLoad | None) -> float:
    """Return the longest time for which a broker may send nothing: SILENCE_S plus the longest pause of a load."""
    if load is None:
        return SILENCE_S
    due_ns = np.sort(np.concatenate([[0], *load.due_ns, *load.heartbeat_due_ns]))
    return SILENCE_S + float(np.diff(due_ns).max(initial=0)) / 1e9


def topic_settings(
    address: str,
    topics: Sequence[Topic],
    data: Input,
    values: Sequence[str | None],
    load: OfferedLoad | None,
) -> dict[str, object]:
    """Return the topics and the layout of their rows as settings for Topics.java.

    `values` has, for each kind, the column with an event's value, or None.
    """
    firsts = [int(stream.ts[0]) for stream in data.streams if len(stream)]
    lines: dict[str, object] = {
        "broker": address,
        "dataset": topics[0].dataset.decode() if topics else "",
        "kinds": len(data.alphabet.kinds),
        "first": min(firsts, default=0),
        "silence_ns": int(longest_silence_s(load) * 1e9),
        "streams": len(topics),
    }
    for index, (topic, stream) in enumerate(zip(topics, data.streams, strict=True)):
        lines |= {
            f"topic.{index}": topic.name,
            f"partitions.{index}": topic.partitions,
            f"rows.{index}": len(stream),
            f"row_bytes.{index}": topic.row.itemsize,
            f"kind.{index}": stream.kinds[0],
            f"tag.{index}": topic.byte_offset("tag"),
        }
        for kind, name in enumerate(values):
            offset = topic.byte_offset(name)
            if name is not None and offset >= 0:
                # The lowest bit states whether the value has eight bytes (Rows.java).
                offset = 2 * offset + (topic.row[name].itemsize == 8)
            lines[f"value.{index}.{kind}"] = offset
    return lines


def partition_of(keys: IntArray, partitions: int) -> IntArray:
    """Return the partition of each key: Kafka's murmur2 of the key as a big-endian int64, modulo `partitions`.

    Kafka's own clients choose the same partition.
    """
    words = keys.astype(">i8").view("<u4").reshape(-1, 2)
    state = np.full(len(keys), _SEED ^ np.uint32(8), dtype=np.uint32)
    for word in (words[:, 0], words[:, 1]):
        mixed = word.astype(np.uint32) * _MULTIPLIER
        mixed = (mixed ^ (mixed >> np.uint32(24))) * _MULTIPLIER
        state = (state * _MULTIPLIER) ^ mixed
    state = (state ^ (state >> np.uint32(13))) * _MULTIPLIER
    state ^= state >> np.uint32(15)
    return (state & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions
