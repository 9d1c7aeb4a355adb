"""Provides the streams of an input as lazy tables, over memory or over Parquet files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from streamlab.engines.protocol import Task
from streamlab.engines.tables import no_events
from streamlab.workloads.datasets.dataset import DatasetStream
from streamlab.workloads.inputs.retail.parameters import parse_ids
from streamlab.workloads.inputs.tweets.declaration import counts_bag
from streamlab.workloads.model import Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A stream.

    Attributes:
        src: index of the stream.
        kinds: kinds that the stream carries.
        rows: rows with columns `ts`, `tag` and fields.
    """

    src: int
    kinds: tuple[int, ...]
    rows: pl.LazyFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """An input as tables.

    Attributes:
        streams: all streams, in the order that breaks ties in event time.
        kinds: number of kinds; a tag is key x `kinds` + kind.
        params: the workload's query parameters.
        empty: a table without rows that has all columns that the program reads.
    """

    streams: Sequence[Table]
    kinds: int
    params: Params
    empty: pl.LazyFrame

    def number(self, name: str) -> int:
        """Return an integer query parameter."""
        return int(self.params[name])

    @property
    def counts_bag(self) -> bool:
        """Whether a query on tweets counts repeated keys of a tweet."""
        return counts_bag(self.params)

    def among(self, name: str, field: str) -> pl.Expr:
        """Return the condition that a field is among the ids of a query parameter."""
        ids = parse_ids(name, str(self.params[name]))
        return pl.lit(True) if ids.every else pl.col(field).is_in(ids.among)

    def of_kind(self, kind: int) -> list[Table]:
        """Return the streams that carry a kind, with only the rows of that kind."""
        tables = []
        for table in self.streams:
            if kind in table.kinds:
                rows = table.rows
                if len(table.kinds) > 1:
                    rows = rows.filter(pl.col("tag") % self.kinds == kind)
                tables.append(Table(src=table.src, kinds=(kind,), rows=rows))
        return tables

    def events(self, kind: int, *fields: str) -> pl.LazyFrame:
        """Return all events of a kind in total order, as `ts` and some fields."""
        parts = [table.rows.select("ts", *fields) for table in self.of_kind(kind)]
        if len(parts) == 1:
            return parts[0]
        # Streams follow each other, so a stable sort orders ties by (stream, position).
        empty = self.empty.select("ts", *fields)
        return pl.concat([empty, *parts]).sort("ts", maintain_order=True)


def scan(task: Task) -> Tables:
    """Return an input over its files; nothing is read yet."""
    empty = pl.from_arrow(no_events(task))
    assert isinstance(empty, pl.DataFrame)
    dataset = task.dataset
    return Tables(
        streams=[
            Table(src=src, kinds=stream.kinds, rows=_scan(stream, empty.columns))
            for src, stream in enumerate(dataset.streams)
        ],
        kinds=len(dataset.alphabet.kinds),
        params=task.workload.query_params,
        empty=empty.lazy(),
    )


def in_memory(tables: Tables) -> Tables:
    """Read an input into memory."""
    streams = [
        replace(table, rows=table.rows.collect().rechunk().lazy()) for table in tables.streams
    ]
    return replace(tables, streams=streams)


def _scan(stream: DatasetStream, columns_read: Sequence[str]) -> pl.LazyFrame:
    names = [name for name, _ in stream.columns if name == "tag" or name in columns_read]
    return pl.scan_parquet([*stream.paths]).select(names).with_columns(pl.col("ts").set_sorted())
