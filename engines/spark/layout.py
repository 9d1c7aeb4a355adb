"""Classifies streams by the events they carry, and reads streams for Spark.

In all four DGS programs a few *markers* (barriers, rules, updates, read-resets: kind 1) separate many *bulk* events
(kind 0), which depend on markers only. The fields on markers assume that shape; they have no meaning for queries of
operators (`operators/`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.model import ColumnType, ListType, column_type

if TYPE_CHECKING:
    import pyarrow as pa

BULK, MARKER = 0, 1

SQL_TYPES = {
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "short",
    "uint16": "int",
    "uint32": "long",
    "uint64": "decimal(20, 0)",
    "float32": "float",
    "float64": "double",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The streams of one dataset by the kinds they carry.

    Attributes:
        streams: all streams; the index breaks ties in event time.
        bulk: indices of the streams with bulk events only.
        markers: indices of the streams with markers only.
        mixed: indices of the streams with both.
        n_kinds: number of kinds, by which tags are decoded.
        keys: number of keys.
        until_ts: only events before this event time belong to the input; None: all in the files.
    """

    streams: tuple[DatasetStream, ...]
    bulk: tuple[int, ...]
    markers: tuple[int, ...]
    mixed: tuple[int, ...]
    n_kinds: int
    keys: int
    until_ts: int | None = None

    def tie_classes(self) -> tuple[tuple[int, ...], ...]:
        """Group bulk streams that are ordered alike to every marker stream in ties."""
        classes: dict[tuple[int, ...], list[int]] = {}
        for src in self.bulk:
            later = tuple(marker for marker in self.markers if marker > src)
            classes.setdefault(later, []).append(src)
        return tuple(tuple(members) for members in classes.values())


def layout(dataset: Dataset) -> Layout:
    """Classify the streams of a dataset by the kinds they carry."""
    kinds = [set(stream.kinds) for stream in dataset.streams]
    return Layout(
        streams=dataset.streams,
        bulk=tuple(i for i, carried in enumerate(kinds) if carried == {BULK}),
        markers=tuple(i for i, carried in enumerate(kinds) if carried == {MARKER}),
        mixed=tuple(i for i, carried in enumerate(kinds) if len(carried) > 1),
        n_kinds=len(dataset.alphabet.kinds),
        keys=dataset.alphabet.keys,
        until_ts=dataset.until_ts,
    )


def read_rows(stream: DatasetStream) -> "pa.Table":
    """Return the stream's rows as a table; of a truncated dataset, the first rows of the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [name for name, _ in stream.columns]
    with pq.ParquetFile(stream.path) as file:
        groups: list[pa.Table] = []
        rows = 0
        for index in range(file.num_row_groups):
            if rows >= stream.rows:
                break
            groups.append(file.read_row_group(index, columns=names))
            rows += len(groups[-1])
        schema = pa.schema([file.schema_arrow.field(name) for name in names])
    return pa.concat_tables([schema.empty_table(), *groups]).slice(0, stream.rows)


def ddl(columns: Sequence[tuple[str, str]]) -> str:
    """Return columns as a Spark schema, which saves Spark a job to infer it."""
    return ", ".join(f"`{name}` {_sql_type(column_type(dtype))}" for name, dtype in columns)


def _sql_type(type_: ColumnType) -> str:
    if isinstance(type_, ListType):
        return f"array<{SQL_TYPES[type_.element.name]}>"
    return SQL_TYPES[type_.name]
