"""Splits streams into the files of micro-batches, with one part per stream and kind of tuple."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.spark.layout import Layout, read_rows
from streamlab.engines.spark.streaming.stream_files import ROW_GROUP, stamp
from streamlab.workloads.model import Query

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The tuples of one kind in one stream.

    Attributes:
        src, kind: indices of the stream and of the kind.
        fields: the columns of the kind other than `ts`.
        columns: (name, type) of the columns in its files.
    """

    src: int
    kind: int
    fields: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The folder of its files."""
        return f"stream-{self.src}-kind-{self.kind}"


def parts(plan: Layout, query: Query) -> tuple[Part, ...]:
    """Return the parts of an input, by stream, then kind."""
    parts_ = []
    for src, stream in enumerate(plan.streams):
        types = dict(stream.columns)
        for kind in stream.kinds:
            tuples = query.operators[0].inputs[kind]
            fields = (*(tuples.fields.names or ()), *(name for name, _ in tuples.lists))
            columns = tuple((name, types[name]) for name in ("ts", *fields))
            parts_.append(Part(src=src, kind=kind, fields=fields, columns=columns))
    return tuple(parts_)


def split(
    plan: Layout,
    query: Query,
    folder: Path,
    files: int,
    *,
    aligned: bool,
    closing: int | None,
) -> tuple[Part, ...]:
    """Write every part as `files` files, in order, and return the parts.

    Args:
        plan: the streams.
        query: the query that reads them.
        folder: parent of a folder per part; must not exist.
        files: number of files per part.
        aligned: whether the i-th files of all parts end at the same event time; otherwise each part's files have
            equal numbers of rows.
        closing: event time of a heartbeat after the last row of each part, whose other columns are null;
            None: no heartbeat.
    """
    times = bounds(plan, files) if aligned else None
    all_parts = parts(plan, query)
    for part in all_parts:
        table = _tuples(plan, part)
        if times is None:
            cuts = np.arange(files + 1) * len(table) // files
        else:
            cuts = cuts_at(table, times)
        write(table, folder / part.name, cuts.tolist(), closing)
    return all_parts


def _tuples(plan: Layout, part: Part) -> pa.Table:
    table = read_rows(plan.streams[part.src])
    if "tag" in table.column_names:
        table = table.take(np.flatnonzero(table["tag"].to_numpy() % plan.n_kinds == part.kind))
    names = [name for name, _ in part.columns]
    # Heartbeats have nulls.
    schema = pa.schema([table.schema.field(name).with_nullable(True) for name in names])
    return table.select(names).cast(schema)


def bounds(plan: Layout, files: int) -> Rows:
    """Return the event times that split the tuples of all streams into about equal parts."""
    ts = np.concatenate([read_rows(stream)["ts"].to_numpy() for stream in plan.streams])
    ts.sort()
    return ts[np.arange(1, files) * len(ts) // files] if len(ts) else ts


def cuts_at(table: pa.Table, times: Rows) -> Rows:
    """Return the rows, with both ends, that split a table so that each part ends before an event time."""
    cuts = np.searchsorted(table["ts"].to_numpy(), times)
    return np.concatenate([[0], cuts, [len(table)]])


def write(table: pa.Table, folder: Path, cuts: Sequence[int], closing: int | None = None) -> None:
    """Write a table as files, split at the rows `cuts`, in order; `closing` is as in `split`."""
    folder.mkdir(parents=True)
    for place, (begin, end) in enumerate(pairwise(cuts)):
        rows = table.slice(begin, end - begin)
        if closing is not None and place == len(cuts) - 2:
            beat = [{name: closing if name == "ts" else None for name in table.column_names}]
            rows = pa.concat_tables([rows, pa.Table.from_pylist(beat, schema=table.schema)])
        path = folder / f"part-{place:05d}.parquet"
        pq.write_table(rows, path, row_group_size=ROW_GROUP)
        stamp(path, place)
