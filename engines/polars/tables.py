"""The streams of an input as lazy tables: over memory, or over their Parquet files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from streamlab.engines.protocol import Task
from streamlab.engines.tables import no_events
from streamlab.workloads.datasets.dataset import DatasetStream
from streamlab.workloads.inputs.retail.ids import parse_ids
from streamlab.workloads.inputs.tweets import counts_bag
from streamlab.workloads.model import Params


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

    @property
    def counts_bag(self) -> bool:
        """Whether a query on tweets counts a key as often as a tweet has it."""
        return counts_bag(self.params)

    def among(self, name: str, field: str) -> pl.Expr:
        """Return whether a field is among the ids of a query parameter."""
        ids = parse_ids(name, str(self.params[name]))
        return pl.lit(True) if ids.every else pl.col(field).is_in(ids.among)

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


def scanned(task: Task) -> Tables:
    """Return an input over its files; nothing is read yet."""
    nothing = pl.from_arrow(no_events(task))
    assert isinstance(nothing, pl.DataFrame)
    dataset = task.dataset
    return Tables(
        streams=[
            Table(src=src, kinds=stream.kinds, rows=_scan(stream))
            for src, stream in enumerate(dataset.streams)
        ],
        kinds=len(dataset.alphabet.kinds),
        params=task.workload.query_params,
        nothing=nothing.lazy(),
    )


def in_memory(tables: Tables) -> Tables:
    """Return an input read into memory, whole."""
    read = [replace(table, rows=table.rows.collect().rechunk().lazy()) for table in tables.streams]
    return replace(tables, streams=read)


def _scan(stream: DatasetStream) -> pl.LazyFrame:
    return pl.scan_parquet(stream.path).with_columns(pl.col("ts").set_sorted())
