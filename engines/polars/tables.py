"""The streams of an input as lazy tables: over memory, or over their Parquet files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from workloads.datasets.arrow import Column, arrow_array
from workloads.datasets.dataset import Dataset, DatasetStream
from workloads.model import ListColumn, Params, Query, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One stream: its place among the streams, its kinds, and `ts`, `tag`, fields as columns."""

    src: int
    kinds: tuple[int, ...]
    rows: pl.LazyFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """An input.

    Attributes:
        streams: in the order that breaks ties in event time.
        kinds: number of kinds: a tag is key x kinds + kind.
        params: the workload's query parameters.
        nothing: no event of any kind, with all columns that the program reads.
    """

    streams: Sequence[Table]
    kinds: int
    params: Params
    nothing: pl.LazyFrame

    def number(self, name: str) -> int:
        """Return a query parameter that is a whole number."""
        return int(self.params[name])

    def of(self, kind: int) -> list[Table]:
        """Return the streams that carry a kind, with its rows only."""
        found = []
        for table in self.streams:
            if kind in table.kinds:
                rows = table.rows
                if len(table.kinds) > 1:
                    rows = rows.filter(pl.col("tag") % self.kinds == kind)
                found.append(Table(src=table.src, kinds=(kind,), rows=rows))
        return found

    def events(self, kind: int, *fields: str) -> pl.LazyFrame:
        """Return all events of a kind in their total order, as `ts` and some fields."""
        parts = [table.rows.select("ts", *fields) for table in self.of(kind)]
        if len(parts) == 1:
            return parts[0]
        # Streams lie one after another, so a stable sort keeps (stream, position) among ties.
        nothing = self.nothing.select("ts", *fields)
        return pl.concat([nothing, *parts]).sort("ts", maintain_order=True)


def scanned(dataset: Dataset, workload: Workload) -> Tables:
    """Return an input over its files; nothing is read yet."""
    event = workload.program.event
    columns: dict[str, Column] = {"ts": np.empty(0, np.int64)}
    columns |= {name: np.empty(0, event[name]) for name in event.names or ()}
    if isinstance(workload.program, Query):
        lists = workload.program.operators[0].lists
        columns |= {name: ListColumn.of([], dtype) for name, dtype in lists.items()}
    arrow = pa.table({name: arrow_array(column) for name, column in columns.items()})
    nothing = pl.from_arrow(arrow)
    assert isinstance(nothing, pl.DataFrame)
    return Tables(
        streams=[
            Table(src=src, kinds=stream.kinds, rows=_scan(stream))
            for src, stream in enumerate(dataset.streams)
        ],
        kinds=len(dataset.alphabet.kinds),
        params=workload.query_params,
        nothing=nothing.lazy(),
    )


def in_memory(tables: Tables) -> Tables:
    """Return an input read into memory, whole."""
    read = [replace(table, rows=table.rows.collect().rechunk().lazy()) for table in tables.streams]
    return replace(tables, streams=read)


def _scan(stream: DatasetStream) -> pl.LazyFrame:
    return pl.scan_parquet(stream.path).with_columns(pl.col("ts").set_sorted())
